#include "runs/train.h"

#include <poll.h>
#include <unistd.h>
#include <cmath>
#include <csignal>

#include "base/log.h"
#include "launch/cluster/job.h"
#include "launch/process/stop_signals.h"
#include "launch/start/probe.h"
#include "record/file/atomic_file.h"
#include "record/run_names.h"
#include "runs/summary.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

// The variables that a signal handler can reach: the flag and the signal in the shared progress.
std::atomic<bool>* stop_flag = nullptr;
std::atomic<int>* shared_signal = nullptr;
launch::StopSignals stop_signals;

unsigned grace = 0;  // seconds

void hear(int signal) {
  if (stop_signals.at_once(signal)) _exit(128 + signal);
  int none = 0;
  if (shared_signal->compare_exchange_strong(none, signal)) alarm(grace);
  stop_flag->store(true);
}

void end_after_grace(int) {
  constexpr char kWord[] = "error: the rank did not save and end within `grace` seconds: ending at once\n";
  pollfd err{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&err, 1, 0) > 0) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kWord, sizeof kWord - 1);
  }
  _exit(exit_code_of(*shared_signal));
}

void hear_signals(record::SharedProgress& shared, double seconds_to_end) {
  stop_flag = &shared.stop_requested();
  shared_signal = &shared.stop_signal();
  grace = static_cast<unsigned>(std::ceil(seconds_to_end));
  std::signal(SIGALRM, end_after_grace);
  struct sigaction action {};
  action.sa_handler = hear;
  action.sa_flags = SA_RESTART;
  for (const int signal : launch::kStopSignals) {
    if (launch::is_heard(signal)) sigaction(signal, &action, nullptr);
  }
}

record::Summary begin_written(const Run& t, const std::vector<record::KeptGraph>& graphs,
                              record::RunProgress& progress) {
  t.open(t.standing);
  const record::RunDirectory& directory = t.standing.directory;
  record::Summary summary = begin_run(t.plan, graphs, directory);
  if (t.begun) t.begun(directory);
  remember_epochs(progress, directory, t.plan.experiment);
  log::also_to(directory.log(t.plan.launch.rank).string());
  return summary;
}

int end_run(const Run& t, record::Summary& summary, record::SharedProgress& shared, int code) {
  const record::RunDirectory& directory = t.standing.directory;
  const record::RankProgress& own = shared.rank(0);
  std::optional<record::Failure> failure;
  if (code != 0) {
    failure = {.rank = 0,
               .what = own.failed ? own.error : "ended with code " + std::to_string(code),
               .log = directory.log(0).string()};
  }
  add_progress(summary, shared.run(), directory, t.plan.experiment);
  return conclude(directory, summary, shared.run(), failure, shared.stop_signal(), t.plan.launch).exit_code;
}

// Returns the exit code of a rank that does not write the run, or whose run has not begun.
int end_unwritten(const record::RankProgress& progress, int code, int signal) {
  // Before the run has begun, ranks that stop may lose each other first.
  if (signal != 0 && (progress.interrupted || (code != 0 && !progress.begun))) return exit_code_of(signal);
  // Settings that are wrong before the run has begun: nothing was started.
  return code != 0 && progress.no_restart && !progress.begun ? 2 : code;
}

}  // namespace

int train_launched(const Run& t) {
  const launch::Launch& launch = t.plan.launch;
  record::SharedProgress shared(t.plan.world_size());
  const rank::TrainRequest request{
      .data_files = t.data.files(), .until_epoch = t.until_epoch, .profile_steps = t.profile_steps};
  FileDescriptor listener;
  rank::Task task = launched_task(t.plan, shared, listener);
  task.held_data = t.data.file();
  std::optional<record::Summary> summary;
  std::optional<GitState> git;
  std::vector<record::KeptGraph> graphs;
  if (launch.rank == 0) {
    // Both fork, which only a process with one thread may do: before the ranks meet.
    git.emplace(t.experiment_folder);
    graphs = read_graphs(t.library, t.plan, t.data);
    task.logs_failure = false;
    task.begin = [&](rank::Task& own, rank::TrainRequest& asked) {
      summary = begin_written(t, graphs, shared.run());
      t.standing.tell(own, asked);
    };
  }
  hear_signals(shared, t.plan.experiment.grace);
  const int code = t.library.serve(task, request);
  if (!summary) {
    const record::RankProgress& progress = shared.rank(launch.rank);
    if (launch.rank == 0 && progress.failed) log::error(progress.error);
    return end_unwritten(progress, code, shared.stop_signal());
  }
  summary->git = git->result();
  return end_run(t, *summary, shared, code);
}

}  // namespace ddp::runs
