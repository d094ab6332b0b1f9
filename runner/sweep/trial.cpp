#include "sweep/trial.h"

#include "base/log.h"
#include "launch/library/plugin.h"
#include "launch/plan/plan.h"
#include "launch/start/probe.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "record/saves/graphs.h"
#include "record/saves/retention.h"
#include "runs/summary.h"
#include "runs/train.h"
#include "sweep/out_of_fold.h"
#include "sweep/prepare.h"
#include "sweep/trial_loop.h"

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

// Finds out where a trial stands: at its newest checkpoint, or at its beginning.
runs::Standing standing_of(const SweepPlan& sweep, int trial, const DeviceLease& lease) {
  runs::Standing s{.directory = sweep.folder_of(trial)};
  s.lock = s.directory.lock();
  s.continues = s.directory.begun();
  if (s.continues) s.checkpoint = record::newest_whole(s.directory.checkpoints());
  // The trial's config.toml may have been edited since.
  s.loaded = s.has_checkpoint()
                 ? config::load(record::settings_file(s.directory, s.checkpoint), {}, sweep.loaded->components())
                 : sweep.loaded->trial(sweep.search->point(trial));
  launch::find_weights(s.loaded, sweep.directory.results());
  sweep.objects->fetch(s.loaded.experiment);
  place(s.loaded.experiment, lease);
  if (!s.has_checkpoint()) {
    s.weights = launch::weights_of(s.loaded);
    return s;
  }
  record::use_graphs_of(s.directory, s.loaded.experiment);
  s.position = record::position_of(s.checkpoint);
  s.finished = runs::has_ended(s.loaded.experiment, s.position);
  return s;
}

void take_progress(const record::RunProgress& run, TrialProgress& progress) {
  progress.step = run.step.load();
  progress.steps = run.steps_in_all.load();
  progress.loss = run.loss.load();
}

// Trains a trial that is a cross-validation: its runs one after another, on the devices of the trial.
int train_cv(const SweepPlan& sweep, const search::NextTrial& next, DeviceLease lease) {
  SweepPlan cv{.loaded = std::make_unique<config::LoadedSweep>(sweep.loaded->cv_of(sweep.search->point(next.trial))),
               .library = sweep.library,
               .data = sweep.data,
               .objects = sweep.objects,
               .gpus = sweep.gpus,
               .directory = sweep.folder_of(next.trial),
               .lease = std::move(lease),
               .until_epoch = next.epochs,
               .data_changed = sweep.data_changed,
               .git = sweep.git};
  cv.search = make_search(*cv.loaded, next.epochs);
  cv.trials.assign(cv.loaded->parts.size(), sweep.trials.at(static_cast<std::size_t>(next.trial)));
  const FileDescriptor lock = cv.directory.lock();
  if (!cv.directory.is_sweep()) begin(cv, cv.directory);
  Trials trials(cv.loaded->sweep, *cv.search);
  for (const Event& event : read_journal(cv.directory.journal())) trials.take(event);
  return TrialLoop(cv, trials).run();
}

}  // namespace

void begin(const SweepPlan& plan, const record::RunDirectory& directory, const record::TagChange& tags) {
  directory.begin_sweep([&] {
    if (!tags.empty()) record::change_tags(directory, tags);
    return launch::text_for(*plan.loaded, directory);
  });
  Journal(directory.journal()).begin(method_of(*plan.loaded), plan.search->trials());
}

void SweepPlan::require_same_data(const std::filesystem::path& checkpoint, const config::Experiment& trial) const {
  if (!data_changed) record::require_same_data(checkpoint, record::data_files(trial), {});
}

fs::path trial_log(const record::RunDirectory& trial) { return trial.log(0).parent_path() / "trial.log"; }

int train_trial(const SweepPlan& sweep, const search::NextTrial& next, DeviceLease lease, TrialProgress& progress) {
  // The trial has a log of its own, so the sweep's verbosity does not apply.
  log::set_verbosity(log::Verbosity::normal);
  if (sweep.loaded->trials_are_cvs()) return train_cv(sweep, next, std::move(lease));
  runs::Standing standing = standing_of(sweep, next.trial, lease);
  const bool has_checkpoint = standing.has_checkpoint();
  const launch::Launch launch{.runs_here = sweep.at_once};
  launch::Plan plan =
      launch::make_plan(standing.loaded, sweep.gpus, launch,
                        has_checkpoint ? std::optional(standing.position.global_batch_size) : std::nullopt);
  const bool holds_fold_out = standing.loaded.experiment.folds.on();
  if (standing.finished || (has_checkpoint && next.epochs > 0 && standing.position.epoch >= next.epochs)) {
    runs::settle(plan, standing);
    if (standing.finished && holds_fold_out && !has_held_out(standing.directory)) {
      const auto data = sweep.data.hold(*sweep.library, standing.loaded, plan);
      predict_held_out(*sweep.library, plan, *data, standing.directory);
    }
    return 0;
  }
  if (has_checkpoint) sweep.require_same_data(standing.checkpoint, plan.experiment);
  const auto data = sweep.data.hold(*sweep.library, standing.loaded, plan);
  // Trials with other held-out rows could not be compared.
  if (has_checkpoint && plan.experiment.draws_sets() && record::has_other_data(standing.checkpoint, plan.experiment)) {
    record::require_known_rows(standing.checkpoint, launch::rows_of_data(*sweep.library, plan, *data),
                               /*may_grow=*/false);
  }
  const auto open = [&](runs::Standing& s) {
    if (s.continues) runs::go_back(s, data->files());
  };
  launch::Nodes alone(launch, {}, std::chrono::milliseconds(0));
  const int code = runs::train({.standing = standing,
                                .plan = plan,
                                .library = *sweep.library,
                                .data = *data,
                                .open = open,
                                .until_epoch = next.epochs,
                                .device_locks = std::move(lease.locks),
                                .git = sweep.git,
                                .watch = [&](const record::RunProgress& run) { take_progress(run, progress); }},
                               &alone);
  if (code != 0 || !holds_fold_out) return code;
  if (record::last_summary(standing.directory).value("status", "") != "completed") return code;  // at a rung
  predict_held_out(*sweep.library, plan, *data, standing.directory);
  return code;
}

std::string last_words(const record::RunDirectory& trial) {
  const auto lines = runs::last_lines(trial_log(trial), 1);
  return lines.empty() ? "it ended without a message" : lines.back();
}

}  // namespace ddp::sweep
