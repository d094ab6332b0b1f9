#include "report/text/listing.h"

#include <algorithm>
#include <ctime>
#include <ostream>

#include "record/run_directory.h"
#include "report/text/sparkline.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::report {
namespace {

constexpr std::size_t kNarrowCurve = 12;
// Each curve reads a file; longer lists show none.
constexpr std::size_t kRowsWithCurve = 200;

std::string curve_of(const Row& row) {
  if (!row.as_run()) return "";
  return sparkline(loss_curve(record::RunDirectory(row.view().folder).metrics(), kNarrowCurve));
}

// Returns the progress: finished epochs, or finished trials.
std::string progress_of(const Row& row) {
  if (const RunView* run = row.as_run()) return std::to_string(run->epochs);
  const SweepView& sweep = *row.as_sweep();
  const auto done = sweep.completed + sweep.stopped + sweep.failed;
  return "sweep " + std::to_string(done) + "/" + std::to_string(sweep.trials);
}

// Returns the sweep to which all of these trials belong, "name/run-id"; "" if there is no such sweep.
std::string sweep_of(const std::vector<Row>& rows) {
  static const std::string kTrials = "/trials/";
  const std::size_t end = rows.empty() ? std::string::npos : rows.front().run.rfind(kTrials);
  if (end == std::string::npos) return "";
  const std::string begin = rows.front().run.substr(0, end + kTrials.size());
  const auto is_other = [&](const Row& row) {
    return row.run.rfind('/') + 1 != begin.size() || !row.run.starts_with(begin);
  };
  return std::any_of(rows.begin(), rows.end(), is_other) ? "" : begin.substr(0, end);
}

// Returns "completed (patience)" for a run that a rule ended.
std::string status_of(const Row& row) {
  const RunView* run = row.as_run();
  return run ? status_in_words(*run) : row.view().status;
}

}  // namespace

void print_list(const std::vector<Row>& rows, std::ostream& out, const Terminal& terminal) {
  const std::string sweep = sweep_of(rows);
  const std::vector<std::string> metrics = metrics_of(rows);
  std::vector<Column> columns{{.header = sweep.empty() ? "run" : "trial"},
                              {.header = "status", .colour = colour_of_status},
                              {.header = "epochs", .right = true}};
  for (const std::string& name : metrics) {
    columns.push_back({.header = name, .right = true, .spare = name == "val_loss" ? 0 : name == "train_loss" ? 1 : 3});
  }
  columns.push_back({.header = "time", .right = true, .spare = 4});
  columns.push_back({.header = "age", .right = true, .spare = 2});
  columns.push_back({.header = "loss", .spare = 5});
  Table table(std::move(columns));
  const std::time_t now = std::time(nullptr);
  for (const Row& row : rows) {
    const bool with_curve = terminal.utf8 && rows.size() <= kRowsWithCurve;
    std::vector<std::string> cells{sweep.empty() ? row.run : sweep + row.run.substr(row.run.rfind('/')), status_of(row),
                                   progress_of(row)};
    for (const std::string& name : metrics) cells.push_back(in_words(metric_of(row, name)));
    cells.push_back(duration(row.view().seconds));
    cells.push_back(age(row.view().started, now));
    cells.push_back(with_curve ? curve_of(row) : "");
    table.row(std::move(cells));
  }
  table.print(out, terminal);
}

void print_list_as_json(const std::vector<Row>& rows, std::ostream& out) {
  config::Value runs = config::Value::array();
  for (const Row& row : rows) {
    runs.push_back(to_json(row));
    // `show` prints the ranking.
    runs.back().erase("ranking");
  }
  const config::Value all = {{"version", 1}, {"runs", std::move(runs)}};
  out << all.dump(2, ' ', false, config::Value::error_handler_t::replace) << "\n";
}

}  // namespace ddp::report
