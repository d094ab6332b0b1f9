#include "sweep/trial_loop.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <ctime>
#include <new>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "config/difference.h"
#include "record/cross_validation.h"
#include "record/file/atomic_file.h"
#include "record/liveness.h"
#include "record/summary.h"
#include "report/text/words.h"
#include "runs/summary.h"
#include "sweep/out_of_fold.h"
#include "sweep/prepare.h"

namespace ddp::sweep {
namespace fs = std::filesystem;
namespace {

using config::Value;
using Clock = std::chrono::steady_clock;

const std::string kOfBest = "-best";
constexpr const char* kDefaultResults = "results";

// 0 is the end.
bool is_later(std::int64_t epoch, std::int64_t other) { return other > 0 && (epoch == 0 || epoch > other); }

// The words for each Status, in their order.
constexpr const char* kWords[] = {"waiting", "running", "stopped", "completed", "failed", "interrupted"};

// The results folder: the parent of the folder with the sweep's name.
fs::path results_root(const fs::path& sweep) {
  if (fs::path root = sweep.parent_path().parent_path(); !root.empty()) return root;
  std::error_code gone;
  return fs::absolute(sweep, gone).parent_path().parent_path();
}

// The command that trains a trial's settings from the user's own file, so that sizes follow the data of then. It names
// the trial's ranks, and the metric by which its best checkpoint was chosen.
std::string command_of_trial(const std::string& of_file, const fs::path& trial, const config::Value& parameters) {
  std::string command = of_file;
  const auto set = [&command](const std::string& key, const config::Value& value) {
    command += " --set " + shell_word(key + "=" + config::to_toml_value(config::without_queries(value)));
  };
  for (const auto& [key, value] : parameters.items()) set(key, value);
  const config::Value config = report::flat(report::read_config(trial / "config.toml"));
  for (const char* key : {"device_pool", "checkpoint.metric", "checkpoint.goal", "stop.metric"}) {
    const config::Value value = config.value(key, config::Value());
    if (!value.is_null() && value != "" && !parameters.contains(key)) set(key, value);
  }
  return command;
}

// The command that repeats a trial alone, bit for bit. `of_file`: the begin of it, or "".
std::string repeat_command(const record::RunDirectory& directory, const std::string& name, const std::string& of_file,
                           int trial, const config::Value& parameters) {
  // With the sweep's own name, `latest` of that name would point to the run.
  const std::string own_name = name.substr(0, kLongestSafeName - kOfBest.size()) + kOfBest;
  const fs::path results = results_root(directory.path());
  const record::RunDirectory folder = directory.trial(trial);
  const std::string command = folder.is_sweep() ? own_command("cv " + path_word(folder.sweep()))
                              : of_file.empty() ? own_command("run " + path_word(folder.config()))
                                                : command_of_trial(of_file, folder.path(), parameters);
  return command + " --name " + shell_word(own_name) +
         (results == kDefaultResults ? "" : " --results " + path_word(results));
}

report::TrialView row_of(const SweepPlan& plan, const Trial& t, const Trials& trials, int place) {
  report::TrialView row{.trial = t.number,
                        .place = {},
                        .folder = plan.folder_of(t.number).path().lexically_relative(plan.directory.path()),
                        .status = kWords[static_cast<std::size_t>(t.status)],
                        .rung = trials.rung(t),
                        .metric = t.metric,
                        .epochs = t.epochs,
                        .seconds = t.seconds,
                        .parameters = trials.decided_parameters(t.number),
                        .error = t.error};
  if (t.metric) row.place = place;
  return row;
}

// Maximum age of summary.json while the sweep runs.
constexpr std::chrono::seconds kSummaryAge{2};
constexpr int kRefreshMilliseconds = 200;
// Another command releases its GPUs without notice, and asks to stop through a file: look this often.
constexpr int kLookMilliseconds = 250;

// summary.json.
struct WrittenSummary {
  report::SweepView view = {};

  void fields(config::Fields& f) {
    f.version();
    f({.name = "kind", .choices = report::kSweepKinds}, view.kind);
    f({.name = "status", .choices = record::kStatuses}, view.status);
    f({"name"}, view.name);
    f({"run_id"}, view.run_id);
    f({.name = "started", .pattern = record::kTimestampPattern}, record::timestamp(view.started));
    f({.name = "ended", .pattern = record::kTimestampPattern},
      view.ended ? std::optional(record::timestamp(*view.ended)) : std::nullopt);
    f({"seconds"}, view.seconds);
    f({"host", "machine of the process that writes the sweep"}, record::host_name());
    view.list_facts(f);
    f({"best", "the number of the best trial"}, view.best() ? std::optional(view.best()->trial) : std::nullopt);
    view.list_ranking(f);
    f({.name = "command", .doc = "trains the file of the sweep; null: unknown", .may_be_null = true}, view.command);
    f({.name = "repeat", .doc = "command that trains the best trial alone", .may_be_null = true}, view.repeat);
    view.tags.fields(f);
  }
};

// A resumed sweep keeps its start, and the time for which it has run.
report::SweepView summary_before(const record::RunDirectory& directory) {
  report::SweepView kept;
  try {
    const report::SweepView before = report::read_sweep(directory.path());
    kept.started = before.started;
    kept.seconds = before.seconds;
    kept.command = before.command;
  } catch (const Error&) {  // nothing depends on a damaged summary
  }
  return kept;
}

// The result of a cross-validation whose runs have completed.
record::CrossValidation result_of(const SweepPlan& plan) {
  const config::Folds folds = plan.loaded->trial(plan.search->point(0)).experiment.folds;
  record::CrossValidation cv{.folds = folds.k.value_or(0), .in_order = folds.order.has_value()};
  for (std::size_t i = 0; i < plan.loaded->parts.size(); ++i) {
    const config::Part& part = plan.loaded->parts[i];
    const fs::path folder = plan.folder_of(static_cast<int>(i)).path();
    const report::RunView run = report::read_run(folder);
    cv.runs.push_back({.run = folder.filename().string(),
                       .seed = part.seed,
                       .repeat = part.repeat,
                       .fold = part.fold,
                       .held_out = run.held_out,
                       .metrics = Value(run.figures)});
  }
  cv.summarise();
  return cv;
}

// Writes summary.json atomically, with the ranking. Throws ddp::Error (training).
void write_summary(const SweepPlan& plan, report::SweepView view, const Trials& trials) {
  const record::RunDirectory& directory = plan.directory;
  const config::Sweep& sweep = plan.loaded->sweep;
  const bool competes = plan.loaded->is_sweep();
  view.run_id = directory.path().filename().string();
  view.tags = record::read_tags(directory);
  view.kind = competes ? "sweep" : method_of(*plan.loaded);
  view.method = method_of(*plan.loaded);
  view.metric = sweep.metric.name;
  view.goal = sweep.goal();
  for (const auto& parameter : sweep.parameters) view.parameters.push_back(parameter.key);
  view.trials = static_cast<std::int64_t>(trials.all().size());
  view.completed = trials.count(Status::completed);
  view.stopped = trials.count(Status::paused);
  view.failed = trials.count(Status::failed);
  view.waiting = trials.count(Status::waiting);
  for (const Trial* trial : competes ? trials.ranking() : trials.in_order()) {
    // Of a race only the runs that it needed.
    if (view.kind == "race" && trial->status == Status::waiting) continue;
    view.ranking.push_back(row_of(plan, *trial, trials, static_cast<int>(view.ranking.size()) + 1));
    if (!competes) view.ranking.back().place.reset();
  }
  if (const Trial* best = competes ? trials.best() : nullptr) {
    view.repeat =
        repeat_command(directory, view.name, view.command, best->number, trials.decided_parameters(best->number));
  }
  std::ostringstream text;
  report::print_json(config::written(WrittenSummary{std::move(view)}), text);
  record::write_atomically(directory.summary(), text.str());
}

}  // namespace

Value summary_schema() {
  return config::output_schema<WrittenSummary>("summary.json of a sweep: its progress and the ranking of its trials");
}

TrialLoop::TrialLoop(const SweepPlan& plan, Trials& trials)
    : plan_(plan),
      trials_(trials),
      journal_(plan.directory.journal()),
      devices_(plan.gpus, plan.cores),
      summary_(summary_before(plan.directory)),
      seconds_before_(summary_.seconds),
      memory_(sizeof(TrialProgress) * static_cast<std::size_t>(plan.at_once)),
      progress_(static_cast<TrialProgress*>(memory_.data())),
      places_(static_cast<std::size_t>(plan.at_once), false),
      requests_(plan.directory),
      screen_(*plan.loaded, trials, progress_) {
  const sigset_t set = launch::stop_signal_set();
  signals_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) throw training_error("cannot receive signals: " + errno_text(errno));
  summary_.name = plan.loaded->name;
  if (!plan.command.empty()) summary_.command = plan.command;
  if (summary_.started == 0) summary_.started = std::time(nullptr);
  for (const Trial& trial : trials_.all()) {
    if (plan_.only && trial.number != *plan_.only) continue;
    const bool begun = trial.status == Status::running || trial.status == Status::interrupted;
    // A trial whose folder was removed has no model to use.
    const bool has_result = trial.status == Status::completed || trial.status == Status::paused;
    const record::RunDirectory folder = plan_.folder_of(trial.number);
    const bool is_gone = has_result && !folder.begun() && !folder.is_sweep();
    // The sweep of a cross-validation lets its runs go on from a rung.
    const bool goes_on =
        plan_.lease && trial.status == Status::paused && is_later(plan_.until_epoch, trial.until_epoch);
    // A result needs each run of a cross-validation and of a race.
    const bool is_needed = !plan_.loaded->is_sweep();
    const bool again = trial.status == Status::failed && (is_needed || fails_again(trial.number));
    if (begun || is_gone || goes_on || again) {
      unfinished_.push_back({.trial = trial.number, .epochs = goes_on ? plan_.until_epoch : trial.until_epoch});
    }
  }
  if (plan_.loaded->is_race()) add_pairs();
}

// If the sweep cannot write its journal, no trial may keep training.
TrialLoop::~TrialLoop() {
  signal_all(SIGKILL);
  for (const Running& running : running_) waitpid(running.process.pid, nullptr, 0);
}

int TrialLoop::run() {
  save_summary("running");
  for (;;) {
    if (stop_signal_ == 0 && !is_decided()) start_what_fits();
    screen_.refresh();
    if (running_.empty() && (stop_signal_ != 0 || is_decided() || !more())) return conclude();
    wait();
    handle_signals();
    reap();
    if (Clock::now() - summary_written_ > kSummaryAge) save_summary("running");
  }
}

void TrialLoop::start_what_fits() {
  while (static_cast<int>(running_.size()) < plan_.at_once) {
    std::optional<DeviceLease> lease;
    const auto fits = [&](int trial) {
      lease = plan_.lease ? plan_.lease->without_locks() : devices_.take(plan_.trials.at(trial).request);
      return lease.has_value();
    };
    const std::optional<search::NextTrial> next = next_trial(fits);
    if (!next) return;
    start(*next, std::move(*lease));
  }
}

// Trials that have begun continue before any other trial begins.
std::optional<search::NextTrial> TrialLoop::next_trial(const search::Fits& fits) {
  for (auto next = unfinished_.begin(); next != unfinished_.end(); ++next) {
    if (!fits(next->trial)) continue;
    const search::NextTrial found = *next;
    unfinished_.erase(next);
    return found;
  }
  return plan_.search->next([&](int trial) { return is_ours(trial) && fits(trial); });
}

void TrialLoop::start(const search::NextTrial& next, DeviceLease lease) {
  Running running{.trial = next.trial, .lease = std::move(lease)};
  const auto place = std::find(places_.begin(), places_.end(), false);
  *place = true;
  running.place = static_cast<std::size_t>(place - places_.begin());
  screen_.begin(next.trial, running.place);
  TrialProgress& progress = *new (&progress_[running.place]) TrialProgress;
  record_event({.kind = "started",
                .trial = next.trial,
                .until_epoch = next.epochs,
                .parameters = trials_.parameters(next.trial)});
  record::RunDirectory directory = plan_.folder_of(next.trial);
  if (plan_.loaded->trials_are_cvs()) {
    directory.make_for_sweep(record::RunDirectory::kRuns);
    paths::make_folders(trial_log(directory).parent_path());
  } else {
    directory.make_for_run();
  }
  std::vector<int> kept = (plan_.lease ? *plan_.lease : running.lease).descriptors();
  const std::vector<int> of_data = plan_.data.descriptors();
  kept.insert(kept.end(), of_data.begin(), of_data.end());
  running.process =
      launch::fork_child({.descriptors = std::move(kept), .log = trial_log(directory).string(), .supervises = true},
                         [&] { return train_trial(plan_, next, std::move(running.lease), progress); });
  running.lease.locks.clear();  // the trial's process holds them now
  running_.push_back(std::move(running));
}

bool TrialLoop::more() const {
  return !unfinished_.empty() || plan_.search->next([this](int trial) { return is_ours(trial); });
}

bool TrialLoop::is_ours(int trial) const { return !plan_.only || trial == *plan_.only; }

void TrialLoop::wait() {
  std::vector<pollfd> watched{{signals_.get(), POLLIN, 0}};
  for (const Running& running : running_) watched.push_back({running.process.pidfd.get(), POLLIN, 0});
  poll(watched.data(), watched.size(), screen_.shown() ? kRefreshMilliseconds : kLookMilliseconds);
}

void TrialLoop::reap() {
  for (auto running = running_.begin(); running != running_.end();) {
    int status = 0;
    if (waitpid(running->process.pid, &status, WNOHANG) != running->process.pid) {
      ++running;
      continue;
    }
    Running ended = std::move(*running);
    running = running_.erase(running);
    places_[ended.place] = false;
    end(ended.trial, status);
    devices_.give_back(std::move(ended.lease));
  }
}

void TrialLoop::end(int trial, int exit_status) {
  const Event event = end_of(trial, exit_status);
  record_event(event);
  screen_.print_end(trials_.at(trial));
  if (plan_.loaded->is_race()) add_pairs();
  if (event.kind == "failed" && fails_again(trial)) {
    unfinished_.push_back({.trial = trial, .epochs = trials_.at(trial).until_epoch});
  }
}

bool TrialLoop::fails_again(int trial) const { return trials_.at(trial).failures <= plan_.loaded->sweep.retries; }

Event TrialLoop::end_of(int trial, int exit_status) const {
  const std::string& metric = plan_.loaded->sweep.metric.name;
  const record::RunDirectory directory = plan_.folder_of(trial);
  std::string status, error;
  Event event{.trial = trial};
  try {
    if (plan_.loaded->trials_are_cvs()) {
      const report::SweepView cv = report::read_sweep(directory.path());
      status = cv.status;
      event.seconds = cv.seconds;
      event.metric = cv.mean();
      for (const report::TrialView& run : cv.ranking) {
        event.epochs = std::max(event.epochs, run.epochs);
        if (error.empty()) error = run.error;
      }
    } else {
      const report::RunView run = report::read_run(directory.path());
      status = run.status;
      event.epochs = run.epochs;
      event.seconds = run.seconds;
      event.stopped_by = run.stopped_by;
      const auto reached = run.figures.find(metric);
      if (reached != run.figures.end()) event.metric = reached->second;
      if (run.error) error = run.error->what;
    }
  } catch (const Error& unreadable) {
    error = unreadable.what();
  }
  const bool ended_well = WIFEXITED(exit_status) && WEXITSTATUS(exit_status) == 0;
  const bool lacks_rows =
      plan_.loaded->is_cv() && plan_.loaded->parts.front().fold && status == "completed" && !has_held_out(directory);
  if (status == "completed" && !lacks_rows) {
    event.kind = "finished";
  } else if (status == "interrupted" && ended_well) {
    event.kind = "paused";
  } else if (stop_signal_ != 0 || is_decided()) {
    event.kind = "interrupted";
  } else {
    event.kind = "failed";
    event.error = WIFSIGNALED(exit_status)
                      ? std::string("its process was killed by ") + sigabbrev_np(WTERMSIG(exit_status))
                  : error.empty() ? last_words(directory)
                                  : error;
  }
  if ((event.kind == "finished" || event.kind == "paused") && !event.metric) {
    event.kind = "failed";
    event.not_finite = true;
    event.error = "its " + metric + " is no finite number";
  }
  return event;
}

void TrialLoop::record_event(const Event& event) {
  journal_.add(event);
  trials_.take(event);
}

void TrialLoop::handle_signals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    stop(signal, stop_signals_.at_once(signal));
  }
  if (const auto request = requests_.hear()) {
    const bool at_once = *request == record::StopRequest::at_once;
    // To a trial the signal alone would be the first, after which it saves.
    for (const Running& running : running_) {
      if (at_once) record::request_stop(plan_.folder_of(running.trial), *request);
    }
    stop(SIGINT, at_once);
  }
}

void TrialLoop::stop(int signal, bool at_once) {
  if (stop_signal_ != 0 && !at_once) return;
  screen_.print(at_once ? "stopping at once" : "stopping: running trials save (again: at once, without saving)");
  // A trial that receives a second signal stops at once if it is SIGINT.
  signal_all(at_once ? SIGINT : SIGTERM);
  stop_signal_ = signal;
}

void TrialLoop::signal_all(int signal) {
  for (const Running& running : running_) kill(running.process.pid, signal);
}

void TrialLoop::save_summary(const std::string& status) {
  summary_.status = status;
  summary_.seconds = seconds_before_ + std::chrono::duration<double>(Clock::now() - begun_).count();
  journal_.alone([this] {
    if (plan_.only) catch_up();
    if (summary_.status != "running") summary_.ended = std::time(nullptr);
    write_summary(plan_, summary_, trials_);
  });
  summary_written_ = Clock::now();
}

int TrialLoop::conclude() {
  screen_.clear();
  if (plan_.only) return conclude_one(*plan_.only);
  const bool all_ended =
      trials_.count(Status::waiting) + trials_.count(Status::interrupted) == 0 && unfinished_.empty();
  const bool stopped = stop_signal_ != 0 && !all_ended;
  if (plan_.loaded->is_cv()) return conclude_cv(stopped);
  if (plan_.loaded->is_race()) return conclude_race();
  const bool failed = trials_.best() == nullptr;
  save_summary(stopped ? "interrupted" : failed ? "failed" : "completed");
  if (failed && !stopped) log::error("every trial failed: " + plan_.directory.path().string());
  return stopped ? say_stopped() : failed ? 1 : 0;
}

int TrialLoop::say_stopped() const {
  log::info("stopped; to continue: " + own_command("resume " + path_word(plan_.directory.path())));
  return runs::exit_code_of(stop_signal_);
}

// A cross-validation has a result if each of its runs has one.
int TrialLoop::conclude_cv(bool stopped) {
  const int failed = trials_.count(Status::failed);
  const bool at_rung = trials_.count(Status::paused) > 0;
  const bool completed = !stopped && !at_rung && failed == 0;
  if (completed) {
    if (plan_.loaded->parts.front().fold) join_held_out(plan_.directory, plan_.loaded->parts);
    record::write_cross_validation(plan_.directory.path(), result_of(plan_));
  }
  save_summary(completed ? "completed" : failed > 0 && !stopped ? "failed" : "interrupted");
  if (stopped) return say_stopped();
  if (failed == 0) return 0;
  log::error(std::to_string(failed) + " of " + std::to_string(trials_.all().size()) +
             " runs failed, so there is no result: " + plan_.directory.path().string());
  return 1;
}

// Counts the pairs whose runs have ended, as far as all earlier ones have. Then nothing depends on which run ends
// first.
void TrialLoop::add_pairs() {
  for (std::size_t i = 2 * race_.pairs.size(); i + 1 < plan_.loaded->parts.size() && race_.is_undecided(); i += 2) {
    const Trial& a = trials_.at(static_cast<int>(i));
    const Trial& b = trials_.at(static_cast<int>(i) + 1);
    if (a.status != Status::completed || b.status != Status::completed || !a.metric || !b.metric) break;
    race_.add(plan_.loaded->parts[i].seed, *a.metric, *b.metric, plan_.loaded->rules, plan_.loaded->sweep.metric);
    const record::Race::Pair& pair = race_.pairs.back();
    screen_.print("pair " + std::to_string(race_.pairs.size()) + " (seed " + std::to_string(pair.seed) + "): A " +
                  report::in_words(pair.a) + ", B " + report::in_words(pair.b) + ", difference " +
                  report::in_words(pair.difference) + ", evidence " + report::in_words(pair.e));
  }
  // The runs that still train cannot change the result.
  if (is_decided()) signal_all(SIGTERM);
}

bool TrialLoop::is_decided() const { return plan_.loaded->is_race() && (!race_.is_undecided() || pair_has_failed()); }

// A run without a value leaves its pair, and so the race, without a result, unless earlier pairs decide it.
bool TrialLoop::pair_has_failed() const {
  const auto waits = [this](int trial) {
    return std::any_of(unfinished_.begin(), unfinished_.end(), [&](const auto& one) { return one.trial == trial; });
  };
  const int first = 2 * static_cast<int>(race_.pairs.size());
  for (int trial = first; trial < std::min(first + 2, static_cast<int>(trials_.all().size())); ++trial) {
    if (race_.is_undecided() && trials_.at(trial).status == Status::failed && !fails_again(trial) && !waits(trial)) {
      return true;
    }
  }
  return false;
}

int TrialLoop::conclude_race() {
  const bool failed = pair_has_failed();
  const bool is_done = !failed && (!race_.is_undecided() || race_.pairs.size() * 2 == plan_.loaded->parts.size());
  race_.metric = plan_.loaded->sweep.metric.name;
  race_.alpha = plan_.loaded->rules.alpha;
  if (is_done || failed) record::write_race(plan_.directory.path(), race_);
  save_summary(is_done ? "completed" : failed ? "failed" : "interrupted");
  if (is_done && race_.seeds_change_nothing()) {
    log::warn("all pairs have the same difference: the seed changes nothing, so there is nothing to average over");
  }
  if (failed) {
    log::error("a run failed, so the race has no result: " + plan_.directory.path().string());
    return 1;
  }
  return is_done ? 0 : say_stopped();
}

int TrialLoop::conclude_one(int number) {
  save_summary("running");
  const Trial& trial = trials_.at(number);
  if (trial.status == Status::interrupted) return runs::exit_code_of(stop_signal_);
  return trial.status == Status::failed ? 1 : 0;
}

// The journal tells what other processes have done. The last process ends the sweep.
void TrialLoop::catch_up() {
  Trials now(plan_.loaded->sweep, *plan_.search);
  for (const Event& event : read_journal(plan_.directory.journal())) now.take(event);
  trials_.replace(now);
  const int left = now.count(Status::waiting) + now.count(Status::running) + now.count(Status::interrupted);
  summary_.status = left > 0 ? "running" : now.best() ? "completed" : "failed";
}

}  // namespace ddp::sweep
