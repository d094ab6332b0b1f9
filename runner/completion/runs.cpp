#include "completion/runs.h"

#include "base/error.h"
#include "base/text_number.h"
#include "completion/files.h"
#include "record/run_directory.h"
#include "record/run_names.h"

namespace ddp::completion {
namespace fs = std::filesystem;
namespace {

// Adds the entries under folder/ of the results folder: run ids under a name, the numbers of trials under a sweep.
void add_inside(Candidates& found, const fs::path& results, const std::string& folder, const std::string& begun) {
  const record::RunDirectory inside(results / folder);
  if (inside.begun()) return;  // a run's folders are not runs
  if (inside.is_sweep()) {
    for (const std::string& number : folder_names(inside.trials(), begun))
      found.push_back({folder + number, "a trial"});
    return;
  }
  for (const std::string& name : folder_names(inside.path(), begun)) {
    const bool is_sweep = record::RunDirectory(inside.path() / name).is_sweep();
    found.push_back({folder + name, is_sweep ? "a sweep" : ""});
    if (is_sweep) found.push_back({folder + name + "/"});
  }
}

// An id alone also names its run.
void add_ids(Candidates& found, const fs::path& results, const std::string& begun) {
  if (begun.size() < record::kShortestPart) return;
  for (const std::string& name : folder_names(results)) {
    for (const std::string& id : folder_names(results / name, begun)) {
      if (id != "latest") found.push_back({id, "of " + name});
    }
  }
}

}  // namespace

Candidates runs(const fs::path& results, const std::string& typed) {
  if (typed.starts_with('/') || typed.starts_with('.') || typed.starts_with('~') ||
      typed.starts_with(results.string() + "/")) {
    return folders(typed);
  }
  Candidates found;
  const std::size_t slash = typed.rfind('/');
  if (slash != std::string::npos) {
    const std::string folder = typed.substr(0, slash + 1);
    add_inside(found, results, folder, typed.substr(slash + 1));
    return found;
  }
  if (std::string("latest").starts_with(typed)) found.push_back({"latest", "the newest run or sweep"});
  for (const std::string& name : folder_names(results, typed)) {
    found.push_back({name, "its newest run or sweep"});
    if (name == typed) add_inside(found, results, name + "/", "");
  }
  add_ids(found, results, typed);
  return found;
}

Candidates checkpoints(const fs::path& results, const std::string& run) {
  Candidates found = {{"latest", "the newest checkpoint"}, {"best", "the checkpoint with the best metric"}};
  try {
    const auto folder = record::RunDirectory::find(results, run).checkpoints();
    for (const std::string& name : folder_names(folder, "step-")) {
      if (const auto step = text_number<std::int64_t>(name.substr(5))) found.push_back({std::to_string(*step)});
    }
  } catch (const Error&) {  // no existing run is named yet
  }
  return found;
}

}  // namespace ddp::completion
