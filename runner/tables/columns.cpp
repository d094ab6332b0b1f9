#include "tables/columns.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "config/check/phrases.h"
#include "config/text/source.h"

namespace ddp::tables {
namespace {

constexpr std::size_t kShownColumns = 20;

std::string quoted(const std::string& name) { return "\"" + config::printable(name) + "\""; }

// The first of some names, for a message.
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShownColumns); ++i) {
    text += (i > 0 ? ", " : "") + quoted(names[i]);
  }
  if (names.size() > kShownColumns) text += " and " + std::to_string(names.size() - kShownColumns) + " more";
  return text;
}

}  // namespace

void require_distinct(const std::vector<format::ColumnInfo>& columns, const std::filesystem::path& file,
                      const std::string& hint) {
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto [known, is_new] = first.emplace(columns[i].name, i);
    if (is_new) continue;
    throw usage_error("columns " + std::to_string(known->second + 1) + " and " + std::to_string(i + 1) +
                          " have the same name: " + quoted(columns[i].name),
                      file.string(),
                      hint.empty()              ? "rename one of them"
                      : columns[i].name.empty() ? hint
                                                : "rename one of them; " + hint);
  }
}

std::vector<int> places_of(const std::vector<format::WantedColumn>& wanted,
                           const std::vector<format::ColumnInfo>& columns, const std::filesystem::path& file,
                           const std::string& hint) {
  std::map<std::string, int> known;
  for (std::size_t i = 0; i < columns.size(); ++i) known.emplace(columns[i].name, static_cast<int>(i));
  std::vector<int> places;
  std::vector<std::string> missing;
  std::string absent;  // remedy for the last of them, if each has one
  bool have_remedies = true;
  for (const format::WantedColumn& column : wanted) {
    const auto found = known.find(column.name);
    if (found != known.end()) {
      places.push_back(found->second);
    } else {
      missing.push_back(column.name);
      absent = column.if_absent;
      have_remedies = have_remedies && !absent.empty();
    }
  }
  if (missing.empty()) return places;
  std::vector<std::string> names;
  for (const format::ColumnInfo& column : columns) names.push_back(column.name);
  std::vector<std::string> near;
  for (const std::string& name : missing) {
    const std::string like = config::nearest(name, names);
    if (!like.empty() && std::find(near.begin(), near.end(), like) == near.end()) near.push_back(like);
  }
  throw usage_error(
      (missing.size() == 1 ? "has no column " : "has no columns ") + listed(missing), file.string(),
      (names.empty() ? "it has no columns" : "its columns: " + listed(names)) +
          (near.empty() ? "" : "; rename " + listed(near) + " if they are meant: names are compared with their case") +
          (!have_remedies || absent.empty() ? "" : "\n  " + absent) + (hint.empty() ? "" : "\n  " + hint));
}

}  // namespace ddp::tables
