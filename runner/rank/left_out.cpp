#include "rank/left_out.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "config/text/source.h"
#include "dist/collectives.h"
#include "record/file/atomic_file.h"
#include "record/metrics/metrics_log.h"
#include "record/run_directory.h"

namespace ddp::rank {
namespace {

constexpr std::size_t kNamed = 5;

// Tells whether a dataset of the experiment leaves out samples that cannot be decoded. The result is the same on every
// rank.
bool leaves_out(const config::Experiment& e) {
  const auto skips = [](const config::Component& dataset) {
    const auto option = dataset.options.find("on_bad");
    return option != dataset.options.end() && *option == "skip";
  };
  return skips(e.dataset) || skips(e.validation.dataset) || skips(e.test.dataset);
}

// Adds the lines of a text to `lines`.
void add_lines(const std::string& text, std::set<std::string>& lines) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.insert(line);
}

// Returns one line for each sample that this rank left out. Names are made printable, because a file name may contain a
// newline.
std::string lines_of(const data::Sets& sets) {
  std::set<std::string> names;
  for (const data::Set* set : {&sets.train, &sets.validation, &sets.test}) {
    if (!set->dataset) continue;
    for (const std::string& name : set->dataset->left_out()) names.insert(config::printable(name));
  }
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

}  // namespace

std::set<std::string> left_out_of_all(const Task& t, const data::Sets& sets, const dist::Group& group) {
  std::set<std::string> names;
  if (!leaves_out(*t.experiment)) return names;
  const std::vector<std::string> of_ranks = dist::all_gather_texts(group, lines_of(sets));
  if (t.rank != 0) return names;
  for (const std::string& lines : of_ranks) add_lines(lines, names);
  return names;
}

std::string in_words(const std::set<std::string>& left_out) {
  const bool one = left_out.size() == 1;
  std::string text = std::to_string(left_out.size()) + (one ? " image does" : " images do") + " not decode and " +
                     (one ? "was" : "were") + " left out: ";
  std::size_t told = 0;
  for (const std::string& name : left_out) {
    if (told == kNamed) break;
    text += (told++ > 0 ? ", " : "") + name;
  }
  return text + (left_out.size() > told ? ", …" : "");
}

void tell_left_out(const Task& t, const data::Sets& sets, const dist::Group& group) {
  std::set<std::string> names = left_out_of_all(t, sets, group);
  if (t.rank != 0 || !leaves_out(*t.experiment)) return;
  const std::filesystem::path file = record::RunDirectory(t.run_directory).bad_files();
  std::error_code none;
  if (std::filesystem::exists(file, none)) add_lines(record::read_text(file), names);
  if (names.empty()) return;
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  record::write_atomically(file, text);
  record::Console(t.console).line("warning: " + in_words(names) + "; all are in " + file.string());
}

}  // namespace ddp::rank
