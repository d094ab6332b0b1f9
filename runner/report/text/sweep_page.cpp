#include <ctime>
#include <ostream>

#include "base/own_command.h"
#include "base/shell_word.h"
#include "config/text/source.h"
#include "record/run_directory.h"
#include "report/text/run_page.h"
#include "report/text/sparkline.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::report {
namespace {

constexpr std::size_t kTrialCurve = 12;
constexpr std::size_t kTrialsWithCurve = 200;

// "12: 9 completed, 2 at a rung, 1 failed".
std::string trials_in_words(const SweepView& sweep) {
  std::string text;
  const auto add = [&text](std::int64_t number, const char* what) {
    if (number > 0) text += (text.empty() ? ": " : ", ") + std::to_string(number) + " " + what;
  };
  add(sweep.completed, "completed");
  add(sweep.stopped, "at a rung");
  add(sweep.failed, "failed");
  add(sweep.trials - sweep.completed - sweep.stopped - sweep.failed - sweep.waiting,
      sweep.status == "running" ? "running" : "interrupted");
  add(sweep.waiting, "waiting");
  return std::to_string(sweep.trials) + text;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

// Returns the first line of `text`.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// `name`: the sweep's name, as commands take it.
void print_ranking(const std::string& name, const SweepView& sweep, std::ostream& out, const Terminal& terminal) {
  std::vector<Column> columns{{.header = "place", .right = true},
                              {.header = "trial"},
                              {.header = sweep.metric.empty() ? "metric" : sweep.metric, .right = true}};
  for (const std::string& parameter : sweep.parameters) columns.push_back({.header = parameter, .right = true});
  columns.push_back({.header = "status", .colour = colour_of_status});
  columns.push_back({.header = "epochs", .right = true, .spare = 1});
  columns.push_back({.header = "time", .right = true, .spare = 2});
  columns.push_back({.header = "loss", .spare = 4});
  columns.push_back({.header = "error", .spare = 3});
  Table table(columns);
  const bool with_curves = terminal.utf8 && sweep.ranking.size() <= kTrialsWithCurve;
  for (const TrialView& trial : sweep.ranking) {
    std::vector<std::string> cells{trial.place ? std::to_string(*trial.place) : "",
                                   name + "/" + trial.folder.filename().string(), in_words(trial.metric)};
    for (const std::string& parameter : sweep.parameters) {
      const auto value = trial.parameters.find(parameter);
      cells.push_back(value == trial.parameters.end() ? "" : in_words(value->second));
    }
    cells.push_back(status_in_words(trial));
    cells.push_back(trial.epochs > 0 ? std::to_string(trial.epochs) : "");
    cells.push_back(trial.seconds > 0 ? duration(trial.seconds) : "");
    cells.push_back(with_curves ? sparkline(loss_curve(record::RunDirectory(trial.folder).metrics(), kTrialCurve))
                                : "");
    cells.push_back(first_line(trial.error));
    table.row(std::move(cells));
  }
  table.print(out, terminal);
}

}  // namespace

void print_sweep(const std::string& name, const SweepView& sweep, std::ostream& out, const Terminal& terminal) {
  Table facts;
  facts.row({"sweep", name});
  facts.row({"status", sweep.status});
  facts.row({"method", sweep.method + " over " + joined(sweep.parameters)});
  facts.row({"metric", sweep.metric + (sweep.goal == "max" ? ", greatest is best" : ", least is best")});
  facts.row({"started", local_time(sweep.started) + ", " + age(sweep.started, std::time(nullptr)) + " ago"});
  facts.row({"time", duration(sweep.seconds)});
  facts.row({"trials", trials_in_words(sweep)});
  if (!sweep.repeat.empty()) facts.row({"train best", sweep.repeat});
  facts.row({"folder", config::printable(sweep.folder.string())});
  if (sweep.status == "interrupted")
    facts.row({"resume", own_command("resume " + path_word(config::printable(sweep.folder.string())))});
  facts.print(out, {});
  if (sweep.ranking.empty()) return;
  out << "\n";
  print_ranking(name, sweep, out, terminal);
}

}  // namespace ddp::report
