#include "launch/training.h"

#include "launch/git_state.h"
#include "launch/job.h"
#include "launch/node_watch.h"
#include "launch/run_summary.h"
#include "launch/supervisor.h"
#include "record/atomic_file.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

// A rank's output is its log.
Job job_of(const Training& t) {
  return {.plan = t.plan,
          .as_rank = [&t](const rank::Task& task) { return t.library.train(task); },
          .task = {.run_directory = t.directory.path(),
                   .resumed = t.resumed,
                   .resume_from = t.start.resume_from,
                   .init_from = t.start.init_from},
          .output =
              [&t](int rank) {
                const std::string log = t.directory.log(rank).string();
                return RankOutput{.log = log, .name = log};
              },
          // The lock is kept on purpose: it frees when the last writer of the run is dead.
          .kept = {t.lock.get()}};
}

}  // namespace

int train(const Training& t) {
  t.directory.begin(config::to_toml(t.plan.experiment));
  record::Summary summary = summary_of(t.plan, t.nodes.devices());
  record::write_summary(t.directory, summary);
  try {
    record::ProgressPage page(t.plan.world_size());
    if (t.resumed) {
      remember_epochs(page.run(), t.directory, t.plan.experiment);
    }
    t.nodes.start(t.meeting.address);
    const Job job = job_of(t);
    Supervisor supervisor(page, t.plan.experiment, job.saves);
    start_ranks(job, t.meeting, t.nodes.all().empty(), supervisor, page);
    const NodeWatch nodes(t.nodes, supervisor, page, job);
    GitState git(t.experiment_folder);
    supervisor.watch_also(git.output(), [&git] { return git.read(); });
    const Outcome outcome = supervisor.watch();
    summary.git = git.result();
    add_progress(summary, page.run(), t.plan.experiment);
    const Ending ending = conclude(t.directory, summary, page.run(), outcome.failure, outcome.stop_signal);
    t.nodes.end(ending.exit_code, ending.why);
    return ending.exit_code;
  } catch (const Error& error) {
    summary.status = "failed";
    summary.error = {.rank = -1, .what = error.what(), .log = ""};
    record::write_summary(t.directory, summary);
    throw;
  }
}

void settle(const Plan& plan, const record::RunDirectory& directory, const record::Position& done) {
  std::error_code none;
  if (fs::exists(directory.summary(), none)) {
    const auto old = config::Value::parse(record::read_text(directory.summary()), nullptr, /*allow_exceptions=*/false);
    if (old.is_object() && old.contains("status") && old.at("status") == "completed") return;
  }
  record::Summary summary = summary_of(plan, {});
  record::ProgressPage page(plan.world_size());
  auto& run = page.run();
  remember_epochs(run, directory, plan.experiment);
  run.epochs_done = done.epoch;
  run.step = done.step;
  run.seconds = done.seconds;
  add_progress(summary, run, plan.experiment);
  summary.status = "completed";
  record::write_summary(directory, summary);
}

}  // namespace ddp::launch
