#include "launch/training.h"

#include "base/shared_mapping.h"
#include "launch/git_state.h"
#include "launch/node_watch.h"
#include "launch/run_summary.h"
#include "launch/supervisor.h"
#include "record/atomic_file.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

// More ranks than a screen holds speak only in their logs.
constexpr int kSpeakingRanks = 8;

void start_ranks(const Training& t, Supervisor& supervisor, record::ProgressPage& page, const std::string& hash) {
  // Afresh for each group, and gone from here when its last rank is forked.
  const SharedMapping memory =
      t.plan.shares_memory() ? SharedMapping(rank::kSharedBytesPerRank * t.plan.ranks_here()) : SharedMapping();
  for (int r = 0; r < t.plan.ranks_here(); ++r) {
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
                    .meeting = t.meeting.place_for(r, memory),
                    .console = -1,
                    .progress = &page,
                    .together = t.nodes.all().empty()};
    // The lock is kept on purpose: it frees when the last writer of the run is dead.
    std::vector<int> kept{t.lock.get()};
    if (r == 0 && t.meeting.listener) kept.push_back(t.meeting.listener.get());
    const std::string log = t.directory.log(r).string();
    supervisor.start(r, {.log = log, .name = log}, kept, [&](int console) {
      if (r < kSpeakingRanks) task.console = console;
      return t.library.train(task);
    });
  }
}

}  // namespace

int train(const Training& t) {
  record::write_atomically(t.directory.config(), config::to_toml(t.plan.experiment));
  record::Summary summary = summary_of(t.plan, t.nodes.devices());
  record::write_summary(t.directory, summary);
  try {
    record::ProgressPage page(t.plan.world_size());
    if (t.resumed) {
      remember_epochs(page.run(), t.directory, t.plan.experiment);
    }
    t.nodes.start(t.meeting.address, t.resumed, t.start.resume_from);
    Supervisor supervisor(page, t.plan.experiment.distributed.timeout);
    start_ranks(t, supervisor, page, summary.config_hash);
    const NodeWatch nodes(t.nodes, supervisor, page, t.directory, t.plan);
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
    if (old.is_object() && old.value("status", "") == "completed") return;
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
