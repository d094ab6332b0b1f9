#include "config/check/problems.h"

#include <algorithm>

namespace ddp::config {
namespace {

constexpr std::size_t kShownProblems = 50;
constexpr std::size_t kLongRemedy = 100;  // such as the list of all keys

}  // namespace

bool Problems::KnownBefore::operator()(const Known& a, const Known& b) const {
  if (before(a.first, b.first)) return true;
  return !before(b.first, a.first) && a.second < b.second;
}

void Problems::add(SourceRange place, const std::string& what, std::string remedy) {
  std::string text = printable(what);
  // The trials of a sweep repeat the mistakes of its file.
  if (!known_.emplace(place, text).second) return;
  all_.push_back({std::move(place), std::move(text), std::move(remedy)});
}

Error Problems::error() const {
  std::vector<const Problem*> sorted;
  for (const Problem& problem : all_) sorted.push_back(&problem);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Problem* a, const Problem* b) { return before(a->place, b->place); });
  if (sorted.size() > kShownProblems) sorted.resize(kShownProblems);
  // A long remedy of several mistakes follows after all of them.
  const auto is_shared = [&](const std::string& remedy) {
    return remedy.size() > kLongRemedy && std::count_if(sorted.begin(), sorted.end(), [&](const Problem* problem) {
                                            return problem->remedy == remedy;
                                          }) > 1;
  };
  std::string text;
  std::vector<std::string> shared;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Problem& problem = *sorted[i];
    if (i > 0) text += "\n";
    text += where(problem.place) + ": " + problem.what;
    if (const std::string lines = excerpt(problem.place); !lines.empty()) text += "\n" + lines;
    if (problem.remedy.empty()) continue;
    if (!is_shared(problem.remedy)) {
      text += "\n  " + problem.remedy;
    } else if (std::find(shared.begin(), shared.end(), problem.remedy) == shared.end()) {
      shared.push_back(problem.remedy);
    }
  }
  if (all_.size() > sorted.size()) text += "\nand " + std::to_string(all_.size() - sorted.size()) + " more";
  for (const std::string& remedy : shared) text += "\n" + remedy;
  return usage_error(text);
}

}  // namespace ddp::config
