#include "launch/run/launched_rank.h"

#include <unistd.h>
#include <cmath>
#include <csignal>
#include <memory>

#include "base/log.h"
#include "launch/cluster/meeting_point.h"
#include "launch/process/stop_signals.h"
#include "launch/run/git_state.h"
#include "launch/run/job.h"
#include "launch/run/run_summary.h"
#include "rank/train.h"
#include "record/file/atomic_file.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

// The variables that a signal handler can reach: the flag in the shared progress, and the signal received.
std::atomic<bool>* stop_flag = nullptr;
volatile std::sig_atomic_t heard_signal = 0;
StopSignals stop_signals;

unsigned grace = 0;  // seconds

void hear(int signal) {
  if (stop_signals.at_once(signal)) _exit(128 + signal);
  if (heard_signal == 0) {
    heard_signal = signal;
    alarm(grace);
  }
  stop_flag->store(true);
}

void end_after_grace(int) {
  constexpr char kWord[] = "error: the rank did not save and end within `grace` seconds: ending at once\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kWord, sizeof kWord - 1);
  _exit(exit_code_of(heard_signal));
}

void hear_signals(record::SharedProgress& shared, double seconds_to_end) {
  stop_flag = &shared.stop_requested();
  grace = static_cast<unsigned>(std::ceil(seconds_to_end));
  std::signal(SIGALRM, end_after_grace);
  struct sigaction action {};
  action.sa_handler = hear;
  action.sa_flags = SA_RESTART;
  for (const int signal : kStopSignals) sigaction(signal, &action, nullptr);
}

// The run directory that rank 0 writes, with its summary.
struct WrittenRun {
  OpenRun run;
  record::Summary summary;
  std::unique_ptr<GitState> git;
};

WrittenRun begin_written(const Training& t, const Launch& launch, record::RunProgress& progress) {
  OpenRun run = t.open();
  record::Summary summary = begin_run(t.plan, run.directory, {}, launch.id);
  if (t.begun) t.begun(run.directory);
  remember_epochs(progress, run.directory, t.plan.experiment);
  log::also_to(run.directory.log(launch.rank).string());
  return {.run = std::move(run), .summary = std::move(summary), .git = std::make_unique<GitState>(t.experiment_folder)};
}

std::optional<record::Failure> failure_of(const WrittenRun& w, const record::RankProgress& progress, int code) {
  if (code == 0) return {};
  return record::Failure{.rank = 0,
                         .what = progress.failed ? progress.error : "ended with code " + std::to_string(code),
                         .log = w.run.directory.log(0).string()};
}

int end_run(WrittenRun& w, const Plan& plan, const Launch& launch, record::SharedProgress& shared, int code) {
  w.summary.git = w.git->result();
  add_progress(w.summary, shared.run(), plan.experiment);
  // If the run stopped early and this rank received no signal, another rank did.
  const int signal = heard_signal != 0 ? heard_signal : SIGTERM;
  return conclude(w.run.directory, w.summary, shared.run(), failure_of(w, shared.rank(0), code), signal, launch)
      .exit_code;
}

}  // namespace

int train_launched(const Training& t, const Launch& launch) {
  record::SharedProgress shared(t.plan.world_size());
  std::optional<WrittenRun> written;
  rank::TrainRequest request{.data_files = record::to_value(t.data.files()), .until_epoch = t.until_epoch};
  rank::Task same;
  if (launch.rank == 0) {
    const OpenRun& run = written.emplace(begin_written(t, launch, shared.run())).run;
    request.resumed = run.resumed;
    request.changes = run.changes;
    same.run_directory = run.directory.path();
    same.resume_from = run.start.resume_from;
    same.init_from = run.start.init_from;
  }
  same.held_data = t.data.file();
  FileDescriptor listener;
  rank::Task task = task_of(t.plan, launch.local_rank, shared, same);
  task.meeting = launched_meeting_place(launch, listener);
  task.together = false;
  task.watched = false;
  hear_signals(shared, t.plan.experiment.grace);
  const int code = t.library.serve(task, request);
  if (written) return end_run(*written, t.plan, launch, shared, code);
  return code != 0 ? code : heard_signal != 0 ? exit_code_of(heard_signal) : 0;
}

std::optional<record::RunDirectory> find_launched(const fs::path& runs, const std::string& launch_id) {
  std::optional<record::RunDirectory> found;
  fs::file_time_type youngest;
  std::error_code ignored;
  for (fs::directory_iterator entry(runs, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    std::error_code error;
    const record::RunDirectory run(entry->path());
    if (entry->is_symlink(error) || !run.begun() || !fs::exists(run.summary(), error)) continue;
    const auto summary = config::Value::parse(record::read_text(run.summary()), nullptr, /*allow_exceptions=*/false);
    if (!summary.is_object() || summary.value("launch", config::Value()) != launch_id) continue;
    const auto begun = fs::last_write_time(run.config(), error);
    if (error || (found && begun <= youngest)) continue;
    found = run;
    youngest = begun;
  }
  return found;
}

}  // namespace ddp::launch
