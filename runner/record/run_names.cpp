#include "record/run_names.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/text_number.h"
#include "config/check/suggest.h"
#include "config/text/source.h"
#include "record/run_directory.h"
#include "record/summary.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostMatches = 10;

bool holds_results(const fs::path& folder) {
  const RunDirectory directory(folder);
  return directory.begun() || directory.is_sweep();
}

// Returns when the run or sweep in a folder began first, as its summary says; 0 if none says it.
std::time_t began_at(const fs::path& folder) try {
  const auto started = last_summary(RunDirectory(folder)).value("started", config::Value());
  return started.is_string() ? read_timestamp(started.get<std::string>()).value_or(0) : 0;
} catch (const Error&) {  // it cannot be read
  return 0;
}

// Returns the sorted names of the folders in a folder, without links and hidden folders. An unreadable folder has none.
std::vector<std::string> folders_inside(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    if (entry->is_symlink(gone) || !entry->is_directory(gone) || is_copied_link(entry->path())) continue;
    std::string name = entry->path().filename().string();
    if (!name.starts_with(".")) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "basic/w4fg" has the name "basic" and a part of an id; "w4fg" has a part only.
struct NamedPart {
  std::string name;
  std::string part;
};

std::optional<NamedPart> split_name(const std::string& named) {
  const std::size_t slash = named.find('/');
  if (slash == std::string::npos) return NamedPart{.name = "", .part = named};
  if (slash == 0 || named.find('/', slash + 1) != std::string::npos) return {};
  return NamedPart{.name = named.substr(0, slash), .part = named.substr(slash + 1)};
}

// Returns "name/id" of each run or sweep whose id contains the part, the newest id first.
std::vector<std::string> matches_of(const fs::path& results, const NamedPart& wanted) {
  std::vector<std::string> found;
  const auto names = wanted.name.empty() ? folders_inside(results) : std::vector<std::string>{wanted.name};
  for (const std::string& name : names) {
    for (const std::string& id : folders_inside(results / name)) {
      if (id.find(wanted.part) == std::string::npos || !holds_results(results / name / id)) continue;
      found.push_back(name + "/" + id);
    }
  }
  const auto id_of = [](const std::string& match) { return match.substr(match.find('/')); };
  std::stable_sort(found.begin(), found.end(),
                   [&](const std::string& a, const std::string& b) { return id_of(a) > id_of(b); });
  return found;
}

std::string listed(const std::vector<std::string>& matches) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostMatches, matches.size()); ++i) text += (i > 0 ? ", " : "") + matches[i];
  if (matches.size() > kMostMatches) text += " and " + std::to_string(matches.size() - kMostMatches) + " more";
  return text;
}

// Returns the names in a results folder that have runs, or sweeps.
std::vector<std::string> names_with_runs(const fs::path& results) {
  std::vector<std::string> names = folders_inside(results);
  std::erase_if(names, [&](const auto& name) { return matches_of(results, {.name = name, .part = ""}).empty(); });
  return names;
}

// Returns the name, or "name/id" of the run, that is nearest to what a person typed: a name, an id, the random end of
// an id, or a path that ends in one of them; "" if none is near.
std::string nearest_run(const fs::path& results, const std::vector<std::string>& names, const std::string& named) {
  std::map<std::string, std::string> runs;
  for (const std::string& name : names) {
    runs.emplace(name, name);
    for (const std::string& run : matches_of(results, {.name = name, .part = ""})) {
      const std::string id = run.substr(name.size() + 1);
      for (const std::string& known : {run, id, id.substr(id.rfind('-') + 1)}) runs.emplace(known, run);
    }
  }
  std::vector<std::string> known;
  for (const auto& [text, run] : runs) known.push_back(text);
  const fs::path path = (fs::path(named) / "").parent_path();
  for (const std::string& typed : {named, path.filename().string(), path.stem().string()}) {
    if (const std::string near = config::nearest(typed, known); !near.empty()) return runs.at(near);
  }
  return "";
}

// The error for the folder of a run that has lost its file: the folder has results, and no config.toml.
std::optional<Error> without_config(const fs::path& results, const fs::path& named) {
  std::error_code none;
  for (const fs::path& folder : {named, results / named, results / named / "latest"}) {
    if (holds_results(folder) || !fs::exists(RunDirectory(folder).metrics(), none)) continue;
    const fs::path own = fs::is_symlink(folder, none) ? folder.parent_path() / fs::read_symlink(folder, none) : folder;
    return usage_error("this run has no config.toml: without it no command can read the run", own.string());
  }
  return {};
}

}  // namespace

bool is_copied_link(const fs::path& folder) {
  std::error_code error;
  if (folder.filename() != "latest" || fs::is_symlink(folder, error)) return false;
  const std::time_t began = began_at(folder);
  if (began == 0) return false;
  for (fs::directory_iterator entry(folder.parent_path(), error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename() != "latest" && began_at(entry->path()) == began) return true;
  }
  return false;
}

std::optional<NewestRun> newest_inside(const fs::path& folder) {
  std::optional<NewestRun> newest;
  for (const std::string& id : folders_inside(folder)) {
    if (!holds_results(folder / id)) continue;
    const std::time_t began = began_at(folder / id);
    // Of runs that began in one second, the one with the greater id.
    if (!newest || began >= newest->began) newest = {.folder = folder / id, .began = began};
  }
  return newest;
}

std::optional<fs::path> folder_by_part(const fs::path& results, const std::string& named) {
  const auto wanted = split_name(named);
  if (!wanted || wanted->part.size() < kShortestPart) return {};
  const std::vector<std::string> matches = matches_of(results, *wanted);
  if (matches.empty()) return {};
  if (matches.size() == 1) return results / matches.front();
  throw usage_error(config::in_quotes(wanted->part) + " is part of " + std::to_string(matches.size()) + " ids",
                    results.string(), "name one of them: " + listed(matches));
}

std::optional<fs::path> folder_of_trial(const fs::path& sweep, const std::string& number) {
  const bool is_of_race = number.starts_with("A-") || number.starts_with("B-");
  const auto trial = text_number<int>(number.substr(is_of_race ? 2 : 0));
  if (!trial || *trial < 0) return {};
  fs::path folder = RunDirectory(sweep).trial(*trial, is_of_race ? number : "").path();
  return holds_results(folder) ? std::optional(folder) : std::nullopt;
}

std::string no_runs_in_words(const fs::path& results) {
  std::error_code unknown;  // the working folder may be deleted
  const fs::path whole = fs::absolute(results, unknown);
  const std::string folder = (unknown ? results : whole).lexically_normal().string();
  if (!fs::exists(results, unknown)) return "there is no folder " + folder;
  return folder + (fs::is_directory(results, unknown) ? " has no runs" : " is not a folder");
}

Error unknown_run(const fs::path& results, const std::string& named) {
  if (const auto lost = without_config(results, named)) return *lost;
  const std::vector<std::string> names = names_with_runs(results);
  if (std::find(names.begin(), names.end(), named) != names.end()) {
    return usage_error("its newest run is gone: the link `latest` names no run", (results / named).string(),
                       "name one of its runs: " + listed(matches_of(results, {.name = named, .part = ""})));
  }
  const std::string what = "no such run: " + config::in_quotes(named);
  if (names.empty()) return usage_error(what + "; " + no_runs_in_words(results), results.string());
  const std::string near = nearest_run(results, names, named);
  return usage_error(what, results.string(),
                     near.empty() ? "names there: " + listed(names) : "did you mean " + config::in_quotes(near) + "?");
}

}  // namespace ddp::record
