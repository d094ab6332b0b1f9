#include <unistd.h>
#include <ctime>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "commands/commands.h"
#include "commands/follow/following.h"
#include "commands/options.h"
#include "report/read/history.h"
#include "report/text/moment.h"
#include "report/text/run_page.h"
#include "report/text/table.h"

namespace ddp::commands {

namespace {

constexpr std::size_t kCurveColumns = 12;

// Some lines of a terminal, drawn over and over at one place, in one write each: no flicker.
class Picture {
 public:
  void draw(const std::string& lines) {
    std::string text = up();
    drawn_ = 0;
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line); ++drawn_) text += line + "\033[K\n";
    std::cout << text << "\033[J" << std::flush;
  }
  void clear() {
    std::cout << up() << "\033[J" << std::flush;
    drawn_ = 0;
  }

 private:
  std::string up() const { return drawn_ > 0 ? "\033[" + std::to_string(drawn_) + "A\r" : ""; }

  int drawn_ = 0;
};

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
  return run.steps == 0 ? "no step yet\n" : report::in_words(moment, width - 1) + "\n";
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

std::string table_of(report::Catalog all, const std::string& results) {
  std::ostringstream text;
  const auto rows = report::rows_of(std::move(all), results);
  if (!rows.empty()) report::print_list(rows, text, report::terminal_of_stdout());
  return text.str();
}

std::string picture_of(const report::Row& row, const std::string& results) {
  if (const report::RunView* run = row.as_run()) return line_of(*run, report::terminal_of_stdout().width);
  report::Catalog all;
  all.sweeps.push_back(*row.as_sweep());
  add_trials(all.sweeps.front(), all);
  return table_of(std::move(all), results);
}

void watch_one(const std::string& name, const std::string& results) {
  Followed followed(record::RunDirectory::find(results, name), results);
  const bool draws = isatty(STDOUT_FILENO) != 0;
  Picture picture;
  followed.wait_for_end([&] {
    if (draws) picture.draw(picture_of(followed.row(), results));
    return true;
  });
  if (draws) picture.clear();
  followed.tell_end();
}

// Not on a terminal, it prints what is alive once.
void watch_all(const std::string& results) {
  constexpr timespec kPause{.tv_sec = 1, .tv_nsec = 0};
  std::string table = table_of(alive_in(results), results);
  if (table.empty()) return log::info("nothing runs in " + results);
  if (isatty(STDOUT_FILENO) == 0) {
    std::cout << table;
    return;
  }
  for (Picture picture; !table.empty(); table = table_of(alive_in(results), results)) {
    picture.draw(table);
    nanosleep(&kPause, nullptr);
  }
  log::info("all have ended");
}

void add_watch(CLI::App& app, int&) {
  struct Options {
    std::string run;
    std::string results = "results";
  };
  CLI::App* verb = app.add_subcommand("watch", "watch a run or a sweep, or all that train, until they end");
  auto options = std::make_shared<Options>();
  verb->add_option("RUN", options->run, kRunInWords);
  add_results(*verb, options->results);
  verb->callback([options] {
    if (options->run.empty()) {
      watch_all(options->results);
    } else {
      watch_one(options->run, options->results);
    }
  });
}

const bool watch_registered = register_verb(41, add_watch);

}  // namespace

}  // namespace ddp::commands
