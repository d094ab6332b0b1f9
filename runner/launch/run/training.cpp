#include "launch/run/training.h"

#include "launch/run/forked_run.h"
#include "launch/run/launched_rank.h"
#include "launch/run/run_summary.h"
#include "record/file/atomic_file.h"
#include "record/saves/ended_by.h"

namespace ddp::launch {
namespace fs = std::filesystem;

int train(Training t, const LaunchRole& role) {
  return role.nodes != nullptr ? train_forked(t, role.launch, *role.nodes) : train_launched(t, role.launch);
}

bool has_ended(const config::Experiment& e, const record::Position& position) {
  if (record::still_ended(e, position.ended_by, position.stop, position.seconds)) return true;
  return has_done_all_steps(e, position);
}

bool has_done_all_steps(const config::Experiment& e, const record::Position& position) {
  return e.steps ? position.step >= *e.steps : position.epoch >= e.epochs.value_or(1);
}

void settle(const Plan& plan, const record::RunDirectory& directory, const record::Position& done) {
  if (record::last_summary(directory).value("status", config::Value()) == "completed") return;
  record::Summary summary = summary_of(plan, {});
  keep_history(summary, directory);
  record::SharedProgress shared(plan.world_size());
  auto& run = shared.run();
  remember_epochs(run, directory, plan.experiment);
  run.epochs_done = done.epoch;
  run.step = done.step;
  run.seconds = done.seconds;
  add_progress(summary, run, plan.experiment);
  summary.status = has_ended(plan.experiment, done) ? "completed" : "interrupted";
  if (done.ended_by != record::kAllSteps) summary.stopped_by = done.ended_by;
  record::write_summary(directory, summary);
}

}  // namespace ddp::launch
