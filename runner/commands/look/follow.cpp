// watch, logs and stop: a run or a sweep that another process writes, seen and ended from this terminal.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "launch/watch/live_line.h"
#include "record/file/input_file.h"
#include "record/liveness.h"
#include "record/run_directory.h"
#include "record/summary.h"
#include "report/read/history.h"
#include "report/text/moment.h"
#include "report/text/run_page.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

// A run or a sweep that another process writes, seen from this terminal.
class Followed {
 public:
  // Throws ddp::Error (usage) if it cannot be read.
  Followed(const record::RunDirectory& run, const fs::path& results);

  // As its summary and its process were when last read.
  const report::Row& row() const { return row_; }
  bool alive() const { return row_.view().status == "running"; }
  void read();

  // Calls `look` a few times a second until the run has ended, or until it returns false. Returns whether it has ended.
  bool wait_for_end(const std::function<bool()>& look);
  // Prints its status and its position on stderr.
  void tell_end() const;

 private:
  const record::RunDirectory run_;
  const fs::path results_;
  report::Row row_;
};

Followed::Followed(const record::RunDirectory& run, const fs::path& results)
    : run_(run), results_(results), row_(read_result(run.path(), results)) {}

void Followed::read() { row_ = read_result(run_.path(), results_); }

bool Followed::wait_for_end(const std::function<bool()>& look) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 200'000'000};
  while (alive()) {
    if (!look()) return false;
    nanosleep(&kPause, nullptr);
    read();
  }
  return true;
}

void Followed::tell_end() const {
  std::string line = row_.run + " has ended: ";
  if (const report::SweepView* sweep = row_.as_sweep()) {
    line += sweep->status + ", " + std::to_string(sweep->completed + sweep->stopped) + " of " +
            report::counted(sweep->trials, "trial") + " done";
  } else {
    line += status_in_words(*row_.as_run()) + " after step " + std::to_string(row_.as_run()->steps);
  }
  log::info(line);
}

constexpr std::size_t kCurveColumns = 12;

std::string line_of(const report::RunView& run, std::size_t width) {
  report::Moment moment{.epoch = run.epochs,
                        .step = run.steps,
                        .steps = run.total_steps,
                        .losses = report::loss_curve(record::RunDirectory(run.folder).metrics(), kCurveColumns),
                        .samples_per_second = run.samples_per_second,
                        .waiting_for_data = run.waiting_for_data,
                        .seconds = run.seconds,
                        .seconds_left = run.seconds_left};
  if (run.loss) moment.loss = *run.loss;
  if (run.steps > 0) moment.seconds_per_step = run.seconds / static_cast<double>(run.steps);
  if (!run.stuck.empty()) return "stuck: " + run.stuck;
  return run.steps == 0 ? "no step yet" : report::in_words(moment, width - 1);
}

// "step 120 of 400, train_loss 0.31, val_loss 0.42"
std::string epoch_in_words(const report::RunView& run) {
  std::string line = "step " + std::to_string(run.steps);
  if (run.total_steps > 0) line += " of " + std::to_string(run.total_steps);
  for (const auto& [name, value] : run.final_metrics) line += ", " + name + " " + report::in_words(value);
  return line;
}

// Adds the trials of a sweep that train.
void add_trials(const report::SweepView& sweep, report::Catalog& all) {
  for (report::RunView& trial : report::read_trials(sweep.folder).runs) {
    if (trial.status == "running") all.runs.push_back(std::move(trial));
  }
}

// Everything under a results folder that is alive.
report::Catalog alive_in(const std::string& results) {
  report::Catalog all = report::read_results(results);
  const auto ended = [](const report::View& view) { return view.status != "running"; };
  std::erase_if(all.runs, ended);
  std::erase_if(all.sweeps, ended);
  for (const report::SweepView& sweep : all.sweeps) add_trials(sweep, all);
  return all;
}

std::string table_of(report::Catalog all, const std::string& results, const report::Terminal& terminal) {
  std::ostringstream text;
  const auto rows = report::rows_of(std::move(all), results);
  if (!rows.empty()) report::print_list(rows, text, terminal);
  return text.str();
}

std::string picture_of(const report::Row& row, const std::string& results) {
  const report::Terminal terminal = report::terminal_of_stderr();
  if (const report::RunView* run = row.as_run()) return line_of(*run, terminal.width);
  report::Catalog all;
  all.sweeps.push_back(*row.as_sweep());
  add_trials(all.sweeps.front(), all);
  return table_of(std::move(all), results, terminal);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void watch_one(const std::string& name, const std::string& results) {
  Followed followed(record::RunDirectory::find(results, name), results);
  const bool draws = launch::wants_live_line();
  launch::Drawing drawing;
  std::int64_t told = 0;  // epochs
  // Where nothing can be redrawn, it prints a line an epoch.
  const auto tell_epoch = [&] {
    const report::RunView* run = followed.row().as_run();
    if (draws || run == nullptr || run->epochs <= told) return;
    told = run->epochs;
    std::cout << "epoch " << told << ": " << epoch_in_words(*run) << std::endl;
  };
  followed.wait_for_end([&] {
    if (draws) drawing.draw(lines_of(picture_of(followed.row(), results)));
    tell_epoch();
    return true;
  });
  tell_epoch();
  drawing.clear();
  followed.tell_end();
}

// Where nothing can be redrawn, it prints once what is alive.
void watch_all(const std::string& results) {
  constexpr timespec kPause{.tv_sec = 1, .tv_nsec = 0};
  if (!launch::wants_live_line()) {
    const std::string table = table_of(alive_in(results), results, report::terminal_of_stdout());
    std::cout << table;
    if (table.empty()) log::info("nothing runs in " + results);
    return;
  }
  launch::Drawing drawing;
  for (bool first = true;; first = false) {
    const std::string table = table_of(alive_in(results), results, report::terminal_of_stderr());
    if (table.empty()) return log::info(first ? "nothing runs in " + results : "all have ended");
    drawing.draw(lines_of(table));
    nanosleep(&kPause, nullptr);
  }
}

struct WatchOptions {
  std::string run;
  std::string results = "results";
};

void watch_runs(const WatchOptions& o) {
  if (o.run.empty()) return watch_all(o.results);
  watch_one(o.run, o.results);
}

void add_watch(CLI::App& verb, WatchOptions& o) {
  completes(verb.add_option("RUN", o.run, kRunInWords), completion::runs);
  add_results(verb, o.results);
}

const bool watch_registered = register_verb(41, "watch", "watch a run or a sweep, or all that train, until they end",
                                            add_watch, watch_runs, {.examples = {"watch basic", "watch"}});

struct LogsOptions {
  std::string run;
  std::string results = "results";
  std::optional<int> rank;
  bool follow = false;
};

// The logs of a run, each printed from where the last print ended.
class Logs {
 public:
  Logs(const record::RunDirectory& run, std::optional<int> rank) : run_(run), rank_(rank) {}

  // Throws ddp::Error (usage) if there is no log, or none of this rank.
  void require_any() const;
  // Prints what is new. Returns false if stdout takes no more.
  bool print_new();

 private:
  std::vector<fs::path> files() const;
  void print_new(const fs::path& file);

  const record::RunDirectory run_;
  const std::optional<int> rank_;
  std::map<fs::path, std::uint64_t> printed_;  // bytes
};

std::vector<fs::path> Logs::files() const {
  if (rank_) return {run_.log(*rank_)};
  std::vector<fs::path> all;
  for (const fs::path& file : paths::entries(run_.log(0).parent_path())) {
    if (file.extension() == ".log") all.push_back(file);
  }
  // rank-2 before rank-10.
  std::sort(all.begin(), all.end(), [](const fs::path& a, const fs::path& b) {
    return std::pair(a.native().size(), a) < std::pair(b.native().size(), b);
  });
  return all;
}

void Logs::require_any() const {
  const fs::path folder = run_.log(0).parent_path();
  if (std::error_code none; !fs::is_directory(folder, none)) throw usage_error("has no logs yet", run_.path().string());
  if (std::error_code none; rank_ && !fs::exists(run_.log(*rank_), none)) {
    throw usage_error("the run has no log of rank " + std::to_string(*rank_), folder.string());
  }
}

bool Logs::print_new() {
  for (const fs::path& file : files()) print_new(file);
  return std::cout.flush().good();
}

void Logs::print_new(const fs::path& file) {
  const record::InputFile in(file);
  std::uint64_t& from = printed_[file];
  std::string block;
  while (from < in.size() && std::cout) {
    block.resize(std::min<std::uint64_t>(std::size_t{1} << 20, in.size() - from));
    in.read(from, block.data(), block.size());
    std::cout << block;
    from += block.size();
  }
}

void print_logs(const LogsOptions& o) {
  const auto run = record::RunDirectory::find(o.results, o.run);
  run.require_run();
  Logs logs(run, o.rank);
  logs.require_any();
  logs.print_new();
  if (!o.follow) return;
  Followed followed(run, o.results);
  if (followed.wait_for_end([&] { return logs.print_new(); })) logs.print_new();
  followed.tell_end();
}

void add_logs(CLI::App& verb, LogsOptions& options) {
  completes(verb.add_option("RUN", options.run, kRunInWords)->required(), completion::runs);
  add_results(verb, options.results);
  verb.add_option("--rank", options.rank, "print only the log of this rank")->check(CLI::Range(0, 1'000'000));
  verb.add_flag("-f,--follow", options.follow, "print what the ranks add, until the run ends");
}

const bool logs_registered = register_verb(42, "logs", "print the logs of a run's ranks", add_logs, print_logs,
                                           {.examples = {"logs latest --rank 0", "logs basic -f"}});

struct StopOptions {
  std::string run;
  std::string results = "results";
  bool now = false;
};

void refuse_unreachable(const record::RunDirectory& run) {
  const record::RunDirectory own(paths::absolute(run.path()));
  if (own.is_trial()) {
    throw usage_error("this is a trial of a sweep, which would start it again", run.path().string(),
                      "stop the sweep: " + own_command("stop " + path_word(own.path().parent_path().parent_path())));
  }
  if (!record::last_summary(run).value("launch", config::Value()).is_null()) {
    throw usage_error("a launcher such as torchrun or srun started its ranks", run.path().string(),
                      "stop the launcher: the run saves when it gets SIGTERM or ^C");
  }
}

constexpr std::chrono::seconds kAnswer{10};

void stop(const StopOptions& o) {
  const auto run = record::RunDirectory::find(o.results, o.run);
  Followed followed(run, o.results);
  if (!followed.alive()) return followed.tell_end();
  refuse_unreachable(run);
  record::request_stop(run, o.now ? record::StopRequest::at_once : record::StopRequest::save);
  log::info(o.now ? "asked it to end at once" : "asked it to save and end; waiting for that");
  const auto begin = std::chrono::steady_clock::now();
  const pid_t writer = record::writer_of(run);
  const bool has_ended = followed.wait_for_end([&] {
    const bool waits_long = std::chrono::steady_clock::now() - begin > kAnswer;
    return writer == 0 || !waits_long || record::is_heard(run);
  });
  record::forget_stop_request(run);
  if (!has_ended) {
    throw training_error("does not answer", run.path().string(),
                         "let its process save and end: kill -TERM " + std::to_string(writer));
  }
  followed.tell_end();
}

void add_stop(CLI::App& verb, StopOptions& options) {
  completes(verb.add_option("RUN", options.run, kRunInWords)->required(), completion::runs);
  add_results(verb, options.results);
  verb.add_flag("--now", options.now, "end it at once, without saving");
}

const bool stop_registered = register_verb(43, "stop", "let a run or a sweep save and end, and wait for that", add_stop,
                                           stop, {.examples = {"stop basic", "stop basic --now"}});

}  // namespace

}  // namespace ddp::commands
