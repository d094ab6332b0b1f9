#include "config/check/problems.h"

#include <algorithm>

namespace ddp::config {
namespace {

constexpr std::size_t kShownProblems = 50;

}  // namespace

void Problems::add(SourceRange place, const std::string& what, std::string remedy) {
  const std::string text = printable(what);
  // The trials of a sweep repeat the mistakes of its file.
  const bool known = std::any_of(all_.begin(), all_.end(), [&](const Problem& problem) {
    return !before(problem.place, place) && !before(place, problem.place) && problem.what == text;
  });
  if (!known) all_.push_back({std::move(place), text, std::move(remedy)});
}

Error Problems::error() const {
  std::vector<const Problem*> sorted;
  for (const Problem& problem : all_) sorted.push_back(&problem);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Problem* a, const Problem* b) { return before(a->place, b->place); });
  std::string text;
  for (std::size_t i = 0; i < std::min(kShownProblems, sorted.size()); ++i) {
    const Problem& problem = *sorted[i];
    if (i > 0) text += "\n";
    text += where(problem.place) + ": " + problem.what;
    if (const std::string lines = excerpt(problem.place); !lines.empty()) text += "\n" + lines;
    if (!problem.remedy.empty()) text += "\n  " + problem.remedy;
  }
  if (sorted.size() > kShownProblems) text += "\nand " + std::to_string(sorted.size() - kShownProblems) + " more";
  return usage_error(text);
}

}  // namespace ddp::config
