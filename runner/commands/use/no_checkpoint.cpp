#include "commands/use/no_checkpoint.h"

#include <algorithm>
#include <string>

#include "base/own_command.h"
#include "record/saves/checkpoint_index.h"
#include "report/select/row.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

// Returns the folder of the newest run of the same name that has a complete checkpoint; empty: none has.
fs::path newest_saved(const record::RunDirectory& run) {
  const fs::path of_name = run.path().parent_path();
  if (run.is_trial() || !of_name.has_filename()) return {};
  std::vector<report::RunView> runs = report::read_results(of_name.parent_path(), of_name.filename().string()).runs;
  std::erase_if(runs, [](const report::RunView& one) {
    return record::latest_checkpoint(record::RunDirectory(one.folder).checkpoints()).empty();
  });
  const auto newest =
      std::max_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.started < b.started; });
  return newest == runs.end() ? fs::path() : newest->folder;
}

// Returns the first line of the error with which a run failed; "": it has not failed.
std::string failure_of(const record::RunDirectory& run) try {
  const report::RunView view = report::read_run(run.path());
  return view.status == "failed" && view.error ? view.error->what.substr(0, view.error->what.find('\n')) : "";
} catch (const Error&) {
  return "";  // a damaged summary.json
}

}  // namespace

Error no_checkpoint(const record::RunDirectory& run) {
  const std::string failure = failure_of(run);
  const std::string resume = own_command("resume " + path_word(run.path()));
  std::string remedy = run.is_locked()   ? "wait for its first save"
                       : failure.empty() ? "it stopped before its first save: " + resume
                                         : "mend the cause, and resume it: " + resume;
  if (const fs::path other = newest_saved(run); !other.empty()) {
    remedy += "; or use the newest run with a checkpoint: " + path_word(other);
  }
  return usage_error(failure.empty() ? "has no complete checkpoint yet"
                                     : "has no checkpoint, because the run failed before its first save: " + failure,
                     run.path().string(), remedy);
}

}  // namespace ddp::commands
