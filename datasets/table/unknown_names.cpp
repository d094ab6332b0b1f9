#include <algorithm>
#include <string>
#include <vector>

#include "config/text/source.h"
#include "datasets/table/encoder.h"

namespace ddp::datasets {

void add(std::vector<UnknownNames>& all, const std::vector<UnknownNames>& more) {
  for (const UnknownNames& one : more) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const auto& other) {
      return other.column == one.column && other.count_as_missing == one.count_as_missing;
    });
    if (known == all.end()) {
      all.push_back(one);
      continue;
    }
    known->count += one.count;
    for (const std::string& name : one.first) {
      const bool is_new = std::find(known->first.begin(), known->first.end(), name) == known->first.end();
      if (is_new && std::ssize(known->first) < UnknownNames::kShown) known->first.push_back(name);
    }
  }
}

std::vector<std::string> in_words(const std::vector<UnknownNames>& unknown) {
  std::vector<std::string> lines;
  for (const UnknownNames& one : unknown) {
    std::string names;
    for (const std::string& name : one.first) names += (names.empty() ? "" : ", ") + config::in_quotes(name);
    lines.push_back("column " + config::in_quotes(one.column) + ": " + std::to_string(one.count) +
                    (one.count == 1 ? " cell holds " : " cells hold ") + names +
                    (one.count > std::ssize(one.first) && std::ssize(one.first) == UnknownNames::kShown ? ", …" : "") +
                    (one.count_as_missing
                         ? ", which counts as missing by dataset.missing_values"
                         : ", which the training rows do not have: all columns of the category are 0"));
  }
  return lines;
}

}  // namespace ddp::datasets
