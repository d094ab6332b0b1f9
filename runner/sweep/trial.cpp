#include "sweep/trial.h"

#include "base/log.h"
#include "base/shell_word.h"
#include "launch/plan/start.h"
#include "launch/run/run_summary.h"
#include "launch/run/training.h"
#include "record/saves/data_files.h"
#include "record/saves/return_point.h"
#include "report/read/summary_view.h"

namespace ddp::sweep {
namespace fs = std::filesystem;
namespace {

// Puts the GPUs that the trial has in place of those that the file asks for, in the same groups.
void place(config::Experiment& e, const Share& share) {
  if (share.gpus.empty()) return;
  std::size_t next = 0;
  if (!e.device_pool.is_array()) {
    e.device_pool = share.gpus;
    return;
  }
  for (config::Value& entry : e.device_pool) {
    if (entry.is_array()) {
      for (config::Value& device : entry) device = share.gpus.at(next++);
    } else {
      entry = share.gpus.at(next++);
    }
  }
}

// The last line that the trial's process has printed.
std::string last_words(const record::RunDirectory& trial) {
  const auto lines = launch::last_lines(trial_log(trial), 1);
  return lines.empty() ? "it ended without a word" : lines.back();
}

}  // namespace

std::string with_changed_data(const record::RunDirectory& sweep) {
  return "ddp-exp resume " + path_word(sweep.path()) + " --data-changed";
}

fs::path trial_log(const record::RunDirectory& trial) { return trial.log(0).parent_path() / "trial.log"; }

int train_trial(const Plan& sweep, const search::Move& move, Share share, TrialProgress& progress) {
  // It prints into a log of its own, whatever the sweep prints.
  log::set_verbosity(log::Verbosity::normal);
  const auto directory = record::RunDirectory::trial(sweep.directory.path(), move.trial);
  FileDescriptor lock = directory.lock();
  const bool begun = directory.begun();
  config::Loaded loaded = begun ? config::load(directory.config(), {}, sweep.loaded.components())
                                : sweep.loaded.trial(sweep.search.point(move.trial));
  // results/<name>/<sweep>
  launch::find_weights(loaded, sweep.directory.path().parent_path().parent_path());
  place(loaded.experiment, share);
  record::ReturnPoint point;
  std::optional<std::int64_t> global_batch_size;
  if (begun) point.checkpoint = record::newest_whole(directory.checkpoints());
  if (!point.checkpoint.empty()) {
    point.position = record::position_of(point.checkpoint);
    global_batch_size = point.position.global_batch_size;
  }
  const launch::Launch launch;
  launch::Plan plan = launch::make_plan(loaded, sweep.gpus, launch, global_batch_size);
  const bool there = move.epochs > 0 && point.position.epoch >= move.epochs;
  if (!point.checkpoint.empty() && (there || launch::has_ended(plan.experiment, point.position))) {
    launch::settle(plan, directory, point.position);
    return 0;
  }
  if (!point.checkpoint.empty() && !sweep.data_changed) {
    record::require_same_data(point.checkpoint, record::data_files(plan.experiment), {},
                              with_changed_data(sweep.directory));
  }
  const auto data = sweep.data.hold(sweep.library, loaded, plan);
  const auto open = [&] {
    if (!point.checkpoint.empty()) record::accept_data(point.checkpoint, data->files());
    if (begun) record::go_back(directory, point);
    launch::OpenRun run{.directory = directory,
                        .lock = std::move(lock),
                        .start = {.resume_from = point.checkpoint, .init_from = {}},
                        .resumed = begun};
    if (point.checkpoint.empty()) run.start.init_from = launch::weights_of(loaded);
    return run;
  };
  launch::Nodes alone(launch, {}, std::chrono::milliseconds(0));
  return launch::train({.plan = plan,
                        .library = sweep.library,
                        .data = *data,
                        .open = open,
                        .until_epoch = move.epochs,
                        .device_locks = std::move(share.locks),
                        .git = sweep.git,
                        .watch =
                            [&progress](const record::RunProgress& run) {
                              progress.step = run.step.load();
                              progress.steps = run.steps_in_all.load();
                              progress.loss = run.loss.load();
                            }},
                       {.launch = launch, .nodes = &alone});
}

TrialState state_of(const record::RunDirectory& trial, const std::string& metric) {
  TrialState state;
  try {
    const report::RunView run = report::read_run(trial.path());
    state = {.status = run.status, .epochs = run.epochs, .seconds = run.seconds};
    if (const auto reached = run.final_metrics.find(metric); reached != run.final_metrics.end()) {
      state.metric = reached->second;
    }
    if (run.error) state.error = run.error->what;
  } catch (const Error& error) {
    state.error = error.what();
  }
  if (state.error.empty()) state.error = last_words(trial);
  return state;
}

}  // namespace ddp::sweep
