#include "record/run_names.h"

#include <algorithm>
#include <vector>

#include "base/own_command.h"
#include "base/safe_name.h"
#include "base/shell_word.h"
#include "base/text_number.h"
#include "config/check/phrases.h"
#include "config/text/source.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"
#include "record/summary.h"
#include "record/timestamp.h"

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

// Returns "name/id" of the run whose id, or the random end of its id, is nearest to the part.
std::string nearest_run(const fs::path& results, const NamedPart& wanted, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!wanted.name.empty() && name != wanted.name) continue;
    const std::vector<std::string> ids = folders_inside(results / name);
    if (const std::string near = config::nearest(wanted.part, ids); !near.empty()) return name + "/" + near;
    if (wanted.part.size() < kShortestPart) continue;
    std::vector<std::string> ends;
    for (const std::string& id : ids) ends.push_back(id.substr(id.rfind('-') + 1));
    const std::string near = config::nearest(wanted.part, ends);
    const auto at = std::find(ends.begin(), ends.end(), near);
    if (!near.empty()) return name + "/" + ids[static_cast<std::size_t>(at - ends.begin())];
  }
  return "";
}

// Returns "name/id" of the first run or sweep that has this id under another name.
std::string same_id(const fs::path& results, const NamedPart& wanted, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!wanted.part.empty() && holds_results(results / name / wanted.part)) return name + "/" + wanted.part;
  }
  return "";
}

// The names of the remedy for an unknown name: the nearest existing ones, or the ways to name a run.
std::string remedy_for_unknown(const fs::path& results, const std::string& named) {
  const auto wanted = split_name(named);
  const std::vector<std::string> names = folders_inside(results);
  std::vector<std::string> near;
  // A run has the name of its experiment file.
  const fs::path file = named;
  if (file.extension() == ".toml" && std::find(names.begin(), names.end(), file.stem().string()) != names.end()) {
    return "a run has no ending: did you mean " + config::in_quotes(file.stem().string()) + "?";
  }
  if (wanted && wanted->name.empty()) near.push_back(config::nearest(named, names));
  if (wanted && !wanted->name.empty()) {
    const std::string name = config::nearest(wanted->name, names);
    if (!name.empty() && name != wanted->name) near.push_back(name + "/" + wanted->part);
    if (name.empty()) near.push_back(same_id(results, *wanted, names));
  }
  if (wanted) near.push_back(nearest_run(results, *wanted, names));
  std::string text;
  for (const std::string& name : near) {
    if (!name.empty()) text += (text.empty() ? "did you mean " : " or ") + config::in_quotes(name);
  }
  if (!text.empty()) return text + "?";
  text = "name a run by its folder, by a name under " + results.string() +
         ", by name/id, name/sweep-id/007 or latest, or a part of an id of at least 4 characters";
  return names.empty() ? text : text + "; names there: " + listed(names);
}

// The error for a path inside a run's folder, such as a checkpoint's.
std::optional<Error> inside_a_run(const std::string& named) {
  std::error_code none;
  if (!fs::exists(named, none)) return {};
  const fs::path path = (fs::path(named) / "").parent_path();
  for (fs::path above = path.parent_path(); !above.empty() && above != above.root_path(); above = above.parent_path()) {
    if (!holds_results(above)) continue;
    const std::string run = path_word(above.string());
    const fs::path within = path.lexically_relative(above);
    const bool is_checkpoint = within.parent_path() == "checkpoints" && is_checkpoint_name(within.filename().string());
    if (!is_checkpoint) return usage_error("is inside the folder of a run", named, "name the run: " + run);
    return usage_error(
        "is a checkpoint, not a run", named,
        "name its run, and the step with --from: " + run + " --from " + std::to_string(step_of(within.filename())));
  }
  return {};
}

// Returns the names in a results folder that have runs, or sweeps.
std::vector<std::string> names_with_runs(const fs::path& results) {
  std::vector<std::string> names = folders_inside(results);
  std::erase_if(names,
                [&](const std::string& name) { return matches_of(results, {.name = name, .part = ""}).empty(); });
  return names;
}

// The error for a name whose newest run was removed, or all of its runs. `folder`: the folder of the name's runs.
std::optional<Error> without_newest(const fs::path& folder) {
  std::error_code none;
  if (!fs::is_directory(folder, none) || holds_results(folder) || holds_results(folder / "latest")) return {};
  const fs::path results = folder.parent_path();
  const std::string name = folder.filename().string();
  const std::vector<std::string> left = matches_of(results, {.name = name, .part = ""});
  if (!left.empty()) {
    return usage_error("its newest run is gone: the link `latest` names no run", folder.string(),
                       "name one of its runs: " + listed(left));
  }
  const std::vector<std::string> names = names_with_runs(results);
  return usage_error("has no runs", folder.string(),
                     names.empty() ? "start one: " + own_command("run FILE") : "names with runs: " + listed(names));
}

bool has_latest(const fs::path& folder) {
  std::error_code none;
  return fs::is_symlink(folder / "latest", none) || holds_results(folder / "latest");
}

// The error for a folder of runs: of all runs of a name, as "results/basic", or of all results.
std::optional<Error> above_runs(const fs::path& results, const std::string& named) {
  std::error_code none;
  if (named.empty() || !fs::is_directory(named, none)) return {};
  const fs::path folder = (fs::path(named) / "").parent_path();
  if (has_latest(folder)) {
    const bool is_here = fs::equivalent(folder / "..", results, none);
    const fs::path name = fs::canonical(folder, none).filename();
    if (auto gone = is_here ? without_newest(results / name) : std::nullopt) return gone;
    return usage_error("is the folder of all runs of a name", named,
                       "name one of them, the newest: " + path_word(is_here ? name : folder / "latest"));
  }
  const std::vector<std::string> names = folders_inside(folder);
  if (std::none_of(names.begin(), names.end(), [&](const auto& name) { return has_latest(folder / name); })) return {};
  const std::string elsewhere = fs::equivalent(folder, results, none) ? "" : " --results " + path_word(folder);
  return usage_error("is a results folder, not a run", named,
                     "name a run in it, such as the newest: latest" + elsewhere);
}

// The error for the folder of a run that has lost its file: the folder has results, and no config.toml.
std::optional<Error> without_config(const fs::path& results, const fs::path& named) {
  std::error_code none;
  for (const fs::path& folder : {named, results / named, results / named / "latest"}) {
    const RunDirectory run(folder);
    if (holds_results(folder) || !fs::exists(run.metrics(), none)) continue;
    const fs::path own = fs::is_symlink(folder, none) ? folder.parent_path() / fs::read_symlink(folder, none) : folder;
    const std::string weights = " --init-from " + path_word(own / "checkpoints" / "latest");
    return usage_error("this run has no config.toml: without it no command can read the run", own.string(),
                       "bring the file back from a copy" +
                           (latest_checkpoint(run.checkpoints()).empty()
                                ? ""
                                : ", or start a new run with its weights: " + own_command("run FILE" + weights)));
  }
  return {};
}

// The error for a number that no trial of an existing sweep has, as in "rates/latest/099" or "rates/099".
std::optional<Error> no_such_trial(const fs::path& results, const fs::path& named) {
  const std::string number = named.filename().string();
  if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return {};
  const fs::path above = named.parent_path();
  const fs::path by_part = folder_by_part(results, above.string()).value_or(fs::path());
  for (const fs::path& sweep : {above, results / above, results / above / "latest", by_part}) {
    if (sweep.empty() || !RunDirectory(sweep).is_sweep()) continue;
    const std::vector<std::string> trials = folders_inside(RunDirectory(sweep).trials());
    if (trials.empty()) return usage_error("this sweep has no trials yet", sweep.string());
    return usage_error("there is no trial " + number, sweep.string(),
                       "its trials: " + trials.front() + " to " + trials.back());
  }
  return {};
}

// Is there a name of runs in this folder, as in a results folder?
bool is_results_folder(const fs::path& folder, const std::string& named) {
  return named != "latest" && has_latest(folder / fs::path(named).begin()->string());
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
  const auto trial = text_number<int>(number);
  if (!trial || *trial < 0) return {};
  fs::path folder = sweep / RunDirectory::trial_folder(*trial);
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
  if (const auto inside = inside_a_run(named)) return *inside;
  if (is_safe_name(named)) {
    if (const auto gone = without_newest(results / named)) return *gone;
  }
  if (const auto above = above_runs(results, named); above && !is_results_folder(".", named)) return *above;
  if (const auto trial = no_such_trial(results, named)) return *trial;
  const std::string what = "no such run: " + config::in_quotes(named);
  if (!folders_inside(results).empty()) {
    return usage_error(what, results.string(), remedy_for_unknown(results, named));
  }
  const std::string remedy = is_results_folder(".", named)
                                 ? "this folder holds results: name it with --results ."
                                 : "run the command in the folder where the run was started, or name the folder of "
                                   "its results: --results FOLDER";
  return usage_error(what + "; " + no_runs_in_words(results), results.string(), remedy);
}

}  // namespace ddp::record
