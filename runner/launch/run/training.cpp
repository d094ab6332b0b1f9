#include "launch/run/training.h"

#include "launch/cluster/node_watch.h"
#include "launch/run/git_state.h"
#include "launch/run/job.h"
#include "launch/run/restarts.h"
#include "launch/run/run_summary.h"
#include "launch/watch/supervisor.h"
#include "record/file/atomic_file.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

// A rank's output is its log.
Job job_of(const Training& t, bool resumed) {
  // The lock is kept on purpose: it frees when the last writer of the run is dead.
  std::vector<int> kept{t.lock.get()};
  for (const FileDescriptor& lock : t.device_locks) kept.push_back(lock.get());
  return {.plan = t.plan,
          .as_rank = [&t](const rank::Task& task) { return t.library.train(task); },
          .task = {.run_directory = t.directory.path(),
                   .resumed = resumed,
                   .changes = resumed ? t.changes : "",
                   .resume_from = t.start.resume_from,
                   .init_from = t.start.init_from,
                   .until_epoch = t.until_epoch},
          .output =
              [&t](int rank) {
                const std::string log = t.directory.log(rank).string();
                return RankOutput{.log = log, .name = log};
              },
          .kept = std::move(kept)};
}

// Groups of ranks, one after the other, until one has ended well or is not to be started again.
class Run {
 public:
  Run(Training& training, record::Summary& summary) : t_(training), summary_(summary), restarts_(training, summary) {}

  Ending to_its_end() {
    for (;;) {
      // Afresh for each group.
      record::ProgressPage page(t_.plan.world_size());
      show_start(page.run());
      Outcome outcome;
      if (run_group(page, outcome) && restarts_.prepare(outcome, page.run())) continue;
      summary_.git = git_ ? git_->result() : *t_.git;
      add_progress(summary_, page.run(), t_.plan.experiment);
      return conclude(t_.directory, summary_, page.run(), outcome.failure, outcome.stop_signal);
    }
  }

 private:
  void show_start(record::RunProgress& run) const {
    remember_epochs(run, t_.directory, t_.plan.experiment);
    const auto& from = restarts_.point().position;
    run.step = from.step;
    run.epochs_done = from.epoch;
    run.seconds = from.seconds;
  }

  // From the forks to the last rank's end. Returns whether the ranks are to be started again.
  bool run_group(record::ProgressPage& page, Outcome& outcome) {
    t_.nodes.start(t_.meeting.address);
    const Job job = job_of(t_, /*resumed=*/t_.resumed && restarts_.used() == 0);
    Supervisor supervisor(page, t_.plan.experiment, job.saves);
    start_ranks(job, t_.meeting, t_.nodes.all().empty(), supervisor, page);
    NodeWatch nodes(t_.nodes, supervisor, page, job);
    if (t_.watch) supervisor.watch_over([&] { t_.watch(page.run()); });
    if (!git_ && !t_.git) git_.emplace(t_.experiment_folder);
    if (git_) supervisor.watch_also(git_->output(), [this] { return git_->read(); });
    outcome = supervisor.watch();
    return restarts_.wanted(outcome, page) && nodes.regroup(outcome);
  }

  // A signal that comes between two groups is for the second to hear.
  const BlockedStopSignals signals_;
  Training& t_;
  record::Summary& summary_;
  Restarts restarts_;
  std::optional<GitState> git_;
};

}  // namespace

int train(Training t) {
  t.directory.begin(config::to_toml(t.plan.experiment));
  record::Summary summary = summary_of(t.plan, t.nodes.devices());
  keep_history(summary, t.directory);
  record::write_summary(t.directory, summary);
  if (t.begun) t.begun();
  try {
    Run run(t, summary);
    const Ending ending = run.to_its_end();
    t.nodes.end(ending.exit_code, ending.why);
    return ending.exit_code;
  } catch (const Error& error) {
    summary.status = "failed";
    summary.error = {.rank = -1, .what = error.what(), .log = ""};
    record::write_summary(t.directory, summary);
    throw;
  }
}

bool has_ended(const config::Experiment& e, const record::Position& position) {
  if (!position.ended_by.empty() && position.ended_by != record::kAllSteps) return true;
  return e.steps ? position.step >= *e.steps : position.epoch >= e.epochs.value_or(1);
}

void settle(const Plan& plan, const record::RunDirectory& directory, const record::Position& done) {
  std::error_code none;
  if (fs::exists(directory.summary(), none)) {
    const auto old = config::Value::parse(record::read_text(directory.summary()), nullptr, /*allow_exceptions=*/false);
    if (old.is_object() && old.contains("status") && old.at("status") == "completed") return;
  }
  record::Summary summary = summary_of(plan, {});
  keep_history(summary, directory);
  record::ProgressPage page(plan.world_size());
  auto& run = page.run();
  remember_epochs(run, directory, plan.experiment);
  run.epochs_done = done.epoch;
  run.step = done.step;
  run.seconds = done.seconds;
  add_progress(summary, run, plan.experiment);
  summary.status = has_ended(plan.experiment, done) ? "completed" : "interrupted";
  record::write_summary(directory, summary);
}

}  // namespace ddp::launch
