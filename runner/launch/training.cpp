#include "launch/training.h"

#include <cmath>
#include <csignal>
#include <deque>
#include <fstream>
#include <memory>

#include "base/log.h"
#include "launch/git_state.h"
#include "launch/meeting_point.h"
#include "launch/supervisor.h"
#include "launch/version.h"
#include "record/atomic_file.h"
#include "record/epoch_history.h"
#include "record/summary.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

// More ranks than a screen holds speak only in their logs.
constexpr int kSpeakingRanks = 8;
constexpr std::size_t kLastLines = 8;

record::Summary summary_of(const Plan& plan) {
  const auto& e = plan.experiment;
  record::Summary s;
  s.name = e.name;
  s.world_size = plan.world_size();
  for (int r = 0; r < plan.world_size(); ++r) s.devices.push_back(plan.device_name(r));
  s.backend = e.distributed.backend;
  s.versions = {{"ddp-exp", kVersion}, {"libtorch", kLibTorchVersion}, {"compiler", __VERSION__}};
  s.config_hash = plan.config_hash();
  return s;
}

void add_metric(config::Value& metrics, const char* name, double value) {
  if (!std::isnan(value)) metrics[name] = value;
}

// A run that goes on has the epochs behind it too.
void remember_epochs(record::RunProgress& run, const record::EpochHistory& history) {
  run.train_loss = history.train_loss;
  run.val_loss = history.val_loss;
  run.val_accuracy = history.val_accuracy;
  run.best = history.best;
  run.best_step = history.best_step;
}

void add_progress(record::Summary& s, const record::RunProgress& run, const config::Experiment& e) {
  s.epochs = run.epochs_done;
  s.steps = run.step;
  s.seconds = run.seconds;
  add_metric(s.final_metrics, "train_loss", run.train_loss);
  add_metric(s.final_metrics, "val_loss", run.val_loss);
  add_metric(s.final_metrics, "val_accuracy", run.val_accuracy);
  if (std::isnan(run.best)) return;
  s.best = {{"metric", e.best_metric()}, {"value", run.best.load()}, {"step", run.best_step.load()}};
}

std::string last_lines(const std::string& file) {
  std::ifstream in(file);
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
    if (lines.size() > kLastLines) lines.pop_front();
  }
  std::string text;
  for (const auto& line : lines) text += "\n    | " + line;
  return text;
}

void start_ranks(const Training& t, Supervisor& supervisor, record::ProgressPage& page, const std::string& hash) {
  const MeetingPoint meeting = make_meeting_point();
  for (int r = 0; r < t.plan.world_size(); ++r) {
    rank::Task task{.experiment = &t.plan.experiment,
                    .config_hash = hash,
                    .rank = r,
                    .world_size = t.plan.world_size(),
                    .devices = t.plan.groups[r],
                    .device_names = t.plan.device_name(r),
                    .run_directory = t.directory.path(),
                    .resumed = t.resumed,
                    .resume_from = t.start.resume_from,
                    .init_from = t.start.init_from,
                    .meeting = {.port = meeting.port, .listener = r == 0 ? meeting.listener.get() : -1},
                    .console = -1,
                    .progress = &page};
    // The lock is kept on purpose: it frees when the last writer of the run is dead.
    std::vector<int> kept{t.lock.get()};
    if (r == 0) kept.push_back(meeting.listener.get());
    supervisor.start(r, kept, [&](int console) {
      if (r < kSpeakingRanks) task.console = console;
      return t.library.train(task);
    });
  }
}

int conclude(const Training& t, const Outcome& outcome, const record::RunProgress& run, record::Summary& s) {
  const bool done = !outcome.failure && run.step >= run.steps_in_all;
  // A run that could not save when it was stopped has failed: nobody must take it for one that can go on from there.
  s.status = outcome.failure ? "failed" : outcome.stop_signal != 0 && !done ? "interrupted" : "completed";
  s.error = outcome.failure;
  record::write_summary(t.directory, s);
  if (s.status == "interrupted") {
    const fs::path last = record::latest_checkpoint(t.directory.checkpoints());
    const std::string saved =
        last.empty() ? "nothing is saved yet" : "saved after step " + std::to_string(record::step_of(last));
    log::info("stopped; " + saved + "; go on: ddp-exp resume " + t.directory.path().string());
    return 128 + (outcome.stop_signal == SIGUSR2 ? SIGTERM : outcome.stop_signal);
  }
  if (s.error) {
    log::error("rank " + std::to_string(s.error->rank) + " (" + t.plan.device_name(s.error->rank) + "): " +
               s.error->what + "\n  its last lines:" + last_lines(s.error->log) + "\n  its log: " + s.error->log);
    return 1;
  }
  return 0;
}

}  // namespace

int train(const Training& t) {
  record::write_atomically(t.directory.config(), config::to_toml(t.plan.experiment));
  record::Summary summary = summary_of(t.plan);
  record::write_summary(t.directory, summary);
  try {
    record::ProgressPage page(t.plan.world_size());
    if (t.resumed) {
      remember_epochs(page.run(), record::epoch_history(t.directory.metrics(), t.plan.experiment.best_metric()));
    }
    Supervisor supervisor(page, t.directory);
    start_ranks(t, supervisor, page, summary.config_hash);
    GitState git(t.experiment_folder);
    supervisor.watch_also(git.output(), [&git] { return git.read(); });
    const Outcome outcome = supervisor.watch();
    summary.git = git.result();
    add_progress(summary, page.run(), t.plan.experiment);
    return conclude(t, outcome, page.run(), summary);
  } catch (const Error& error) {
    summary.status = "failed";
    summary.error = {.rank = -1, .what = error.what(), .log = ""};
    record::write_summary(t.directory, summary);
    throw;
  }
}

void settle(const Training& t, const record::Position& done) {
  std::error_code none;
  if (fs::exists(t.directory.summary(), none)) {
    const auto old =
        config::Value::parse(record::read_text(t.directory.summary()), nullptr, /*allow_exceptions=*/false);
    if (old.is_object() && old.value("status", "") == "completed") return;
  }
  record::Summary summary = summary_of(t.plan);
  record::ProgressPage page(t.plan.world_size());
  auto& run = page.run();
  remember_epochs(run, record::epoch_history(t.directory.metrics(), t.plan.experiment.best_metric()));
  run.epochs_done = done.epoch;
  run.step = done.step;
  run.seconds = done.seconds;
  add_progress(summary, run, t.plan.experiment);
  summary.status = "completed";
  record::write_summary(t.directory, summary);
}

}  // namespace ddp::launch
