#include "launch/run/forked_run.h"

#include "launch/cluster/node_watch.h"
#include "launch/plan/devices.h"
#include "launch/plugin/run_copy.h"
#include "launch/run/git_state.h"
#include "launch/run/job.h"
#include "launch/run/restarts.h"
#include "launch/run/run_summary.h"
#include "launch/watch/supervisor.h"
#include "rank/train.h"
#include "record/saves/content_samples.h"

namespace ddp::launch {
namespace {

// A rank's output goes to its log.
Job job_of(const ForkedRun& f, bool resumed) {
  // The ranks keep the lock: it is released when the last writer of the run ends.
  std::vector<int> kept = f.training.data.kept();
  kept.push_back(f.run.lock.get());
  for (const FileDescriptor& lock : f.device_locks) kept.push_back(lock.get());
  const rank::TrainRequest request{.resumed = resumed,
                                   .changes = resumed ? f.run.changes : "",
                                   .data_files = record::to_value(f.training.data.files()),
                                   .until_epoch = f.training.until_epoch};
  return {.plan = f.training.plan,
          .as_rank = [&f, request](const rank::Task& task) { return f.training.library.serve(task, request); },
          .task = {.run_directory = f.run.directory.path(),
                   .resume_from = f.run.start.resume_from,
                   .init_from = f.run.start.init_from,
                   .held_data = f.training.data.file()},
          .kept = std::move(kept),
          .output =
              [&f](int rank) {
                const std::string log = f.run.directory.log(rank).string();
                return RankOutput{.log = log, .name = log};
              }};
}

// Starts groups of ranks, one after another, until a group succeeds or must not be restarted.
class RankGroups {
 public:
  RankGroups(ForkedRun& forked, record::Summary& summary)
      : f_(forked), t_(forked.training), summary_(summary), restarts_(forked, summary) {}

  Ending to_its_end() {
    for (;;) {
      // New for each group.
      record::SharedProgress shared(t_.plan.world_size());
      show_start(shared.run());
      Outcome outcome;
      if (run_group(shared, outcome) && restarts_.prepare(outcome, shared.run())) continue;
      summary_.git = git_ ? git_->result() : *t_.git;
      add_progress(summary_, shared.run(), t_.plan.experiment);
      return conclude(f_.run.directory, summary_, shared.run(), outcome.failure, outcome.stop_signal, f_.launch);
    }
  }

 private:
  void show_start(record::RunProgress& run) const {
    remember_epochs(run, f_.run.directory, t_.plan.experiment);
    const auto& from = restarts_.point().position;
    run.step = from.step;
    run.epochs_done = from.epoch;
    run.seconds = from.seconds;
  }

  // Runs a group from the forks to the last rank's end. Returns whether the ranks are to be restarted.
  bool run_group(record::SharedProgress& shared, Outcome& outcome) {
    f_.nodes.start(f_.meeting.address);
    const Job job = job_of(f_, /*resumed=*/f_.run.resumed && restarts_.used() == 0);
    Supervisor supervisor(shared, t_.plan.experiment, job.saves);
    start_ranks(job, f_.meeting, f_.nodes.all().empty(), supervisor, shared);
    NodeWatch nodes(f_.nodes, supervisor, shared, job);
    if (t_.watch) supervisor.watch_over([&] { t_.watch(shared.run()); });
    if (!git_ && !t_.git) git_.emplace(t_.experiment_folder);
    if (git_) supervisor.watch_also(git_->output(), [this] { return git_->read(); });
    outcome = supervisor.watch();
    name_node(outcome);
    return restarts_.wanted(outcome, shared) && nodes.regroup(outcome);
  }

  // On several nodes a rank's number does not say where to look.
  void name_node(Outcome& outcome) const {
    if (!outcome.failure || outcome.failure->rank < 0 || f_.nodes.all().empty()) return;
    auto& what = outcome.failure->what;
    what = "on " + f_.nodes.name_of(outcome.failure->rank / t_.plan.ranks_here()) + ": " + what;
  }

  // A signal between two groups must reach the second group.
  const BlockedStopSignals signals_;
  ForkedRun& f_;
  const Training& t_;
  record::Summary& summary_;
  Restarts restarts_;
  std::optional<GitState> git_;
};

// Prepares the run in an order that writes nothing before all nodes are ready.
ForkedRun open_run(Training& t, const Launch& launch, Nodes& nodes) {
  nodes.welcome(sources_mark(t.plan.experiment) + config::to_toml(t.plan.experiment),
                nodes.all().empty() ? config::Value() : record::content_samples(t.data.files()));
  MeetingPoint meeting = make_meeting_point(t.plan, launch, nodes.own_ip());
  auto locks = t.device_locks ? std::move(*t.device_locks) : lock_devices(t.plan);
  OpenRun run = t.open();
  return {.training = t,
          .launch = launch,
          .nodes = nodes,
          .meeting = std::move(meeting),
          .run = std::move(run),
          .device_locks = std::move(locks)};
}

}  // namespace

int train_forked(Training& t, const Launch& launch, Nodes& nodes) {
  ForkedRun f = open_run(t, launch, nodes);
  const record::RunDirectory& directory = f.run.directory;
  record::Summary summary = begin_run(t.plan, directory, nodes.devices());
  if (t.begun) t.begun(directory);
  try {
    RankGroups groups(f, summary);
    const Ending ending = groups.to_its_end();
    nodes.end(ending.exit_code, ending.why);
    return ending.exit_code;
  } catch (const Error& error) {
    summary.status = "failed";
    summary.error = {.rank = -1, .what = error.what(), .log = ""};
    record::write_summary(directory, summary);
    throw;
  }
}

}  // namespace ddp::launch
