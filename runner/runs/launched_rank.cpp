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
std::atomic<int>* stop_signal = nullptr;
launch::StopSignals stop_signals;

unsigned grace = 0;  // seconds

void hear(int signal) {
  if (stop_signals.at_once(signal)) _exit(128 + signal);
  int none = 0;
  if (stop_signal->compare_exchange_strong(none, signal)) alarm(grace);
  stop_flag->store(true);
}

void end_after_grace(int) {
  constexpr char kWord[] = "error: the rank did not save and end within `grace` seconds: ending at once\n";
  pollfd err{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&err, 1, 0) > 0) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kWord, sizeof kWord - 1);
  }
  _exit(exit_code_of(*stop_signal));
}

void hear_signals(record::SharedProgress& shared, double seconds_to_end) {
  stop_flag = &shared.stop_requested();
  stop_signal = &shared.stop_signal();
  grace = static_cast<unsigned>(std::ceil(seconds_to_end));
  std::signal(SIGALRM, end_after_grace);
  struct sigaction action {};
  action.sa_handler = hear;
  action.sa_flags = SA_RESTART;
  for (const int signal : launch::kStopSignals) {
    if (launch::is_heard(signal)) sigaction(signal, &action, nullptr);
  }
}

// The run directory that rank 0 writes, with its summary.
struct WrittenRun {
  OpenRun run;
  record::Summary summary;
};

WrittenRun begin_written(const Run& t, const std::vector<record::KeptGraph>& graphs, record::RunProgress& progress) {
  OpenRun run = t.open();
  record::Summary summary = begin_run(t.plan, graphs, run.directory);
  if (t.begun) t.begun(run.directory);
  remember_epochs(progress, run.directory, t.plan.experiment);
  log::also_to(run.directory.log(t.plan.launch.rank).string());
  return {.run = std::move(run), .summary = std::move(summary)};
}

std::optional<record::Failure> failure_of(const WrittenRun& w, const record::RankProgress& progress, int code) {
  if (code == 0) return {};
  return record::Failure{.rank = 0,
                         .what = progress.failed ? progress.error : "ended with code " + std::to_string(code),
                         .log = w.run.directory.log(0).string()};
}

int end_run(WrittenRun& w, const launch::Plan& plan, record::SharedProgress& shared, int code) {
  add_progress(w.summary, shared.run(), w.run.directory, plan.experiment);
  return conclude(w.run.directory, w.summary, shared.run(), failure_of(w, shared.rank(0), code), shared.stop_signal(),
                  plan.launch)
      .exit_code;
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
  std::optional<WrittenRun> written;
  std::optional<GitState> git;
  std::vector<record::KeptGraph> graphs;
  if (launch.rank == 0) {
    // Both fork, which only a process with one thread may do: before the ranks meet.
    git.emplace(t.experiment_folder);
    graphs = read_graphs(t.library, t.plan, t.data);
    task.logs_failure = false;
    task.begin = [&](rank::Task& own, rank::TrainRequest& asked) {
      written.emplace(begin_written(t, graphs, shared.run())).run.tell(own, asked);
    };
  }
  hear_signals(shared, t.plan.experiment.grace);
  const int code = t.library.serve(task, request);
  if (!written) {
    const record::RankProgress& progress = shared.rank(launch.rank);
    if (launch.rank == 0 && progress.failed) log::error(progress.error);
    return end_unwritten(progress, code, shared.stop_signal());
  }
  written->summary.git = git->result();
  return end_run(*written, t.plan, shared, code);
}

std::optional<record::RunDirectory> find_launched(const fs::path& runs, const std::string& launch_id) {
  std::optional<record::RunDirectory> found;
  fs::file_time_type youngest;
  std::error_code ignored;
  for (fs::directory_iterator entry(runs, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    std::error_code error;
    const record::RunDirectory run(entry->path());
    if (entry->is_symlink(error) || record::is_copied_link(entry->path()) || !run.begun()) continue;
    if (record::last_summary(run).value("launch", config::Value()) != launch_id) continue;
    const auto begun = fs::last_write_time(run.config(), error);
    if (error || (found && begun <= youngest)) continue;
    found = run;
    youngest = begun;
  }
  return found;
}

}  // namespace ddp::runs
