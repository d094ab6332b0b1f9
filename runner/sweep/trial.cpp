#include "sweep/trial.h"

#include "base/log.h"
#include "launch/plan/plan.h"
#include "launch/start/probe.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "record/saves/graphs.h"
#include "record/saves/retention.h"
#include "runs/summary.h"
#include "runs/train.h"

namespace ddp::sweep {
namespace fs = std::filesystem;
namespace {

// Replaces the GPUs of the experiment file by the trial's GPUs, in the same groups.
void place(config::Experiment& e, const DeviceLease& lease) {
  if (lease.gpus.empty()) return;
  std::size_t next = 0;
  if (!e.device_pool.is_array()) {
    e.device_pool = lease.gpus;
    return;
  }
  for (config::Value& entry : e.device_pool) {
    if (entry.is_array()) {
      for (config::Value& device : entry) device = lease.gpus.at(next++);
    } else {
      entry = lease.gpus.at(next++);
    }
  }
}

// The start of a trial: its experiment, and its checkpoint if it has one.
struct Beginning {
  bool begun = false;
  config::Loaded loaded;
  record::ReturnPoint point = {};
  std::optional<std::int64_t> global_batch_size = {};  // of the checkpoint
};

Beginning beginning_of(const SweepPlan& sweep, const record::RunDirectory& directory, int trial,
                       const DeviceLease& lease) {
  const bool begun = directory.begun();
  const fs::path checkpoint = begun ? record::newest_whole(directory.checkpoints()) : fs::path();
  // The trial's config.toml may have been edited since.
  Beginning from{.begun = begun,
                 .loaded = checkpoint.empty() ? sweep.loaded->trial(sweep.search->point(trial))
                                              : config::load(record::settings_file(directory, checkpoint), {},
                                                             sweep.loaded->components()),
                 .point = {.checkpoint = checkpoint}};
  // results/<name>/<sweep>
  launch::find_weights(from.loaded, sweep.directory.path().parent_path().parent_path());
  place(from.loaded.experiment, lease);
  if (from.point.checkpoint.empty()) return from;
  record::use_graphs_of(directory, from.loaded.experiment);
  from.point.position = record::position_of(from.point.checkpoint);
  from.global_batch_size = from.point.position.global_batch_size;
  return from;
}

// Returns whether the trial has trained to the epoch of `next` or to its end.
bool has_done(const search::NextTrial& next, const record::ReturnPoint& point, const launch::Plan& plan) {
  if (point.checkpoint.empty()) return false;
  return (next.epochs > 0 && point.position.epoch >= next.epochs) || runs::has_ended(plan.experiment, point.position);
}

runs::OpenRun open_trial(const Beginning& from, const launch::HeldData& data, const record::RunDirectory& directory,
                         FileDescriptor lock) {
  const fs::path& checkpoint = from.point.checkpoint;
  if (!checkpoint.empty()) record::accept_data(checkpoint, data.files());
  if (from.begun) record::go_back(directory, from.point);
  const fs::path weights = checkpoint.empty() ? launch::weights_of(from.loaded) : fs::path();
  return {.directory = directory,
          .lock = std::move(lock),
          .start = {.resume_from = checkpoint, .init_from = weights},
          .resumed = from.begun};
}

void take_progress(const record::RunProgress& run, TrialProgress& progress) {
  progress.step = run.step.load();
  progress.steps = run.steps_in_all.load();
  progress.loss = run.loss.load();
}

}  // namespace

void SweepPlan::require_same_data(const std::filesystem::path& checkpoint, const config::Experiment& trial) const {
  if (!data_changed) record::require_same_data(checkpoint, record::data_files(trial), {});
}

fs::path trial_log(const record::RunDirectory& trial) { return trial.log(0).parent_path() / "trial.log"; }

int train_trial(const SweepPlan& sweep, const search::NextTrial& next, DeviceLease lease, TrialProgress& progress) {
  // The trial has a log of its own, so the sweep's verbosity does not apply.
  log::set_verbosity(log::Verbosity::normal);
  const auto directory = record::RunDirectory::trial(sweep.directory.path(), next.trial);
  FileDescriptor lock = directory.lock();
  const Beginning from = beginning_of(sweep, directory, next.trial, lease);
  const launch::Launch launch;
  launch::Plan plan = launch::make_plan(from.loaded, sweep.gpus, launch, from.global_batch_size);
  if (has_done(next, from.point, plan)) {
    runs::settle(plan, directory, from.point.position);
    return 0;
  }
  if (!from.point.checkpoint.empty()) sweep.require_same_data(from.point.checkpoint, plan.experiment);
  const auto data = sweep.data.hold(*sweep.library, from.loaded, plan);
  const fs::path& checkpoint = from.point.checkpoint;
  // Trials with other held-out rows could not be compared.
  if (!checkpoint.empty() && plan.experiment.draws_sets() && record::has_other_data(checkpoint, plan.experiment)) {
    record::require_known_rows(checkpoint, launch::rows_of_data(*sweep.library, plan, *data), /*may_grow=*/false);
  }
  launch::Nodes alone(launch, {}, std::chrono::milliseconds(0));
  return runs::train({.plan = plan,
                      .library = *sweep.library,
                      .data = *data,
                      .open = [&] { return open_trial(from, *data, directory, std::move(lock)); },
                      .until_epoch = next.epochs,
                      .device_locks = std::move(lease.locks),
                      .git = sweep.git,
                      .watch = [&](const record::RunProgress& run) { take_progress(run, progress); }},
                     &alone);
}

std::string last_words(const record::RunDirectory& trial) {
  const auto lines = runs::last_lines(trial_log(trial), 1);
  return lines.empty() ? "it ended without a message" : lines.back();
}

}  // namespace ddp::sweep
