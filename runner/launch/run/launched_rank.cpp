#include "launch/run/launched_rank.h"

#include <unistd.h>
#include <cmath>
#include <csignal>

#include "base/log.h"
#include "launch/cluster/meeting_point.h"
#include "launch/process/stop_signals.h"
#include "launch/run/git_state.h"
#include "launch/run/job.h"
#include "launch/run/run_summary.h"
#include "record/file/atomic_file.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

// What a signal handler can reach: the page's flag, and which signal it was.
std::atomic<bool>* stop_flag = nullptr;
volatile std::sig_atomic_t stop_signal = 0;
StopSignals stop_signals;

unsigned grace = 0;  // seconds

void hear(int signal) {
  if (stop_signals.at_once(signal)) _exit(128 + signal);
  if (stop_signal == 0) {
    stop_signal = signal;
    alarm(grace);
  }
  stop_flag->store(true);
}

void end_after_grace(int) {
  constexpr char kWord[] = "error: not saved and ended within the time that `grace` gives: ending at once\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kWord, sizeof kWord - 1);
  _exit(exit_code_of(stop_signal));
}

void hear_signals(record::ProgressPage& page, double seconds_to_end) {
  stop_flag = &page.stop_requested();
  grace = static_cast<unsigned>(std::ceil(seconds_to_end));
  std::signal(SIGALRM, end_after_grace);
  struct sigaction action {};
  action.sa_handler = hear;
  action.sa_flags = SA_RESTART;
  for (const int signal : kStopSignals) sigaction(signal, &action, nullptr);
}

std::optional<record::Failure> failure_of(const LaunchedRank& r, const record::RankProgress& progress, int code) {
  if (code == 0) return {};
  return record::Failure{.rank = r.launch.rank,
                         .what = progress.failed ? progress.error : "ended with code " + std::to_string(code),
                         .log = r.directory->log(r.launch.rank).string()};
}

}  // namespace

int train_launched(const LaunchedRank& r) {
  const int rank = r.launch.rank;
  const bool writes = rank == 0;
  record::Summary summary = summary_of(r.plan, {});
  summary.launch = r.launch.id;
  if (writes) keep_history(summary, *r.directory);
  record::ProgressPage page(r.plan.world_size());
  if (writes) {
    r.directory->begin(config::to_toml(r.plan.experiment));
    record::write_summary(*r.directory, summary);
    if (r.begun) r.begun();
    remember_epochs(page.run(), *r.directory, r.plan.experiment);
  }
  if (r.directory) log::also_to(r.directory->log(rank).string());
  std::optional<GitState> git;
  if (writes) git.emplace(r.experiment_folder);
  FileDescriptor listener;
  rank::Task task = task_of(r.plan, r.launch.local_rank, page,
                            {.run_directory = writes ? r.directory->path() : fs::path(),
                             .resumed = r.resumed,
                             .changes = r.changes,
                             .resume_from = r.start.resume_from,
                             .init_from = r.start.init_from});
  task.meeting = launched_meeting_place(r.launch, listener);
  task.together = false;
  task.watched = false;
  hear_signals(page, r.plan.experiment.grace);
  const int code = r.library.train(task);
  if (!writes) return code != 0 ? code : stop_signal != 0 ? exit_code_of(stop_signal) : 0;
  summary.git = git->result();
  add_progress(summary, page.run(), r.plan.experiment);
  // Where this rank has heard no signal, and the run has ended early, another one has.
  const int signal = stop_signal != 0 ? stop_signal : SIGTERM;
  return conclude(*r.directory, summary, page.run(), failure_of(r, page.rank(rank), code), signal).exit_code;
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
