#include "commands/train/lost_saves.h"

#include "base/log.h"
#include "base/own_command.h"
#include "record/saves/checkpoint_index.h"
#include "record/summary.h"

namespace ddp::commands {
namespace {

// Returns the steps of a completed run by its summary.json; 0: the run has not completed, or the file does not say.
std::int64_t completed_steps(const record::RunDirectory& run) {
  const config::Value summary = record::last_summary(run);
  const config::Value steps = summary.value("steps", config::Value());
  return summary.value("status", config::Value()) == "completed" && steps.is_number_integer()
             ? steps.get<std::int64_t>()
             : 0;
}

}  // namespace

std::optional<Error> all_saves_lost(const record::RunDirectory& run) {
  const std::int64_t steps = completed_steps(run);
  if (steps == 0 || !record::checkpoint_folders(run.checkpoints()).empty()) return {};
  return usage_error(
      "the run has completed " + std::to_string(steps) + " steps, and no checkpoint of it is left",
      run.checkpoints().string(),
      "bring one back from a copy, or train again in a new run: " + own_command("run " + path_word(run.config())));
}

void check_saves(const record::RunDirectory& run, const std::filesystem::path& checkpoint, bool tells) {
  if (checkpoint.empty()) {
    if (const auto lost = all_saves_lost(run)) throw *lost;
    return;
  }
  const std::int64_t step = record::step_of(checkpoint);
  const std::int64_t steps = completed_steps(run);
  const auto newest_first = record::checkpoint_folders(run.checkpoints());
  // A damaged one has its own warning.
  if (!tells || steps <= step || record::step_of(newest_first.front()) > step) return;
  log::warn("the run has completed " + std::to_string(steps) + " steps, and its newest checkpoint left is of step " +
            std::to_string(step) + ": steps " + std::to_string(step + 1) + " to " + std::to_string(steps) +
            " are trained again");
}

}  // namespace ddp::commands
