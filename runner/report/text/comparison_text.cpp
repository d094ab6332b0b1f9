#include <cmath>
#include <cstdlib>
#include <ostream>

#include "base/log.h"
#include "record/run_directory.h"
#include "report/select/comparison.h"
#include "report/text/chart.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::report {
namespace {

using config::Value;

// The colours distinguish no more curves.
constexpr std::size_t kMostCurves = 8;

// A longer value is cut to its beginning; --json has all of it.
constexpr std::size_t kLongest = 40;

std::string cell(const std::string& key, const Value& value) {
  if (value.is_null()) return "-";
  if (key == "seconds" && value.is_number()) return duration(value.get<double>());
  if (value.is_number_float()) return in_words(value.get<double>());
  return clipped(in_words(value), kLongest, "...");
}

// Returns the difference of the second number to the first.
std::string change(const std::string& key, const Value& first, const Value& second) {
  if (!first.is_number() || !second.is_number()) return "";
  const double more = second.get<double>() - first.get<double>();
  const bool whole = first.is_number_integer() && second.is_number_integer();
  return (more < 0 ? "-" : "+") +
         (whole ? std::to_string(std::llabs(static_cast<std::int64_t>(more))) : cell(key, std::abs(more)));
}

void print_names(const Comparison& c, std::ostream& out, const Terminal& terminal) {
  Table names({{}, {}, {.colour = colour_of_status}});
  for (std::size_t i = 0; i < c.runs.size(); ++i) {
    const RunView* run = c.runs[i].as_run();
    names.row({letter(i), c.runs[i].run, run ? status_in_words(*run) : c.runs[i].view().status});
  }
  names.print(out, terminal);
}

// One line per key, one column per run.
Table by_key(const std::vector<ComparisonLine>& lines, std::size_t runs) {
  std::vector<Column> columns(1);
  for (std::size_t i = 0; i < runs; ++i) columns.push_back({.header = letter(i), .right = true});
  Table table(columns);
  for (const auto& [key, values] : lines) {
    std::vector<std::string> cells{key};
    for (const Value& value : values) cells.push_back(cell(key, value));
    table.row(std::move(cells));
  }
  return table;
}

// One line per run.
Table by_run(const std::vector<ComparisonLine>& lines, std::size_t runs) {
  std::vector<Column> columns(1);
  for (const auto& [key, values] : lines) columns.push_back({.header = key, .right = true});
  Table table(columns);
  for (std::size_t i = 0; i < runs; ++i) {
    std::vector<std::string> cells{letter(i)};
    for (const auto& [key, values] : lines) cells.push_back(cell(key, values[i]));
    table.row(std::move(cells));
  }
  return table;
}

// Prints one line per key; but one line per run if that is narrower and one line per key does not fit.
void print_lines(const char* title, const std::vector<ComparisonLine>& lines, std::size_t runs, std::ostream& out,
                 const Terminal& terminal) {
  if (lines.empty()) return;
  out << "\n" << title << "\n";
  const Table keys = by_key(lines, runs);
  const Table rows = by_run(lines, runs);
  const bool fits = keys.width() + 2 <= terminal.width || keys.width() <= rows.width();
  (fits ? keys : rows).print(out, terminal, "  ");
}

void print_chart(const Comparison& c, std::ostream& out, const Terminal& terminal) {
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < std::min(kMostCurves, c.runs.size()); ++i) {
    const record::RunDirectory directory(c.runs[i].view().folder);
    curves.push_back({.name = letter(i), .points = loss_curve(directory.metrics(), chart_points(terminal))});
  }
  std::erase_if(curves, [](const Curve& curve) { return curve.points.empty(); });
  if (curves.empty()) return;
  const bool some = c.runs.size() > kMostCurves;
  out << "\nloss" << (some ? " of the first " + std::to_string(kMostCurves) : "") << "\n";
  print_chart(curves, out, terminal);
}

// Returns the lines whose two values differ.
std::vector<ComparisonLine> differing(std::vector<ComparisonLine> lines) {
  std::erase_if(lines, [](const ComparisonLine& line) { return line.second[0] == line.second[1]; });
  return lines;
}

// Adds a third column: the second value minus the first.
Table with_change(const std::vector<ComparisonLine>& lines) {
  Table table({{}, {.header = "A", .right = true}, {.header = "B", .right = true}, {.header = "B - A", .right = true}});
  for (const auto& [key, values] : lines) {
    table.row({key, cell(key, values[0]), cell(key, values[1]), change(key, values[0], values[1])});
  }
  return table;
}

}  // namespace

namespace {

void print_paired(const record::Pairing& pairing, std::ostream& out, const Terminal& terminal) {
  if (!pairing.refusal.empty()) return log::warn("their runs do not pair: " + pairing.refusal);
  out << "\npairs\n";
  Table table({{},
               {.header = "A - B", .right = true},
               {.header = "95 % from", .right = true},
               {.header = "to", .right = true},
               {.header = "p", .right = true},
               {.header = "n", .right = true}});
  for (const record::PairedDifference& one : pairing.metrics) {
    table.row({one.metric, in_words(one.mean), in_words(one.low), in_words(one.high), in_words(one.p),
               std::to_string(one.n)});
  }
  table.print(out, terminal, "  ");
}

// Warns of metrics that say nothing about which run is better.
void tell_other_rows(const Comparison& c) {
  std::string groups;
  for (const auto& group : other_rows(c.runs)) {
    std::string letters;
    for (const std::size_t i : group) letters += (letters.empty() ? "" : ", ") + letter(i);
    groups += (groups.empty() ? "" : " | ") + letters;
  }
  if (!groups.empty()) log::warn("not measured on the same rows: " + groups);
}

}  // namespace

void print_comparison(const Comparison& c, std::ostream& out, const Terminal& terminal) {
  tell_other_rows(c);
  print_names(c, out, terminal);
  if (c.config.empty()) out << "\nthe configurations are the same\n";
  print_lines("config", c.config, c.runs.size(), out, terminal);
  print_lines("environment", c.environment, c.runs.size(), out, terminal);
  print_lines("metrics", c.metrics, c.runs.size(), out, terminal);
  if (c.paired) print_paired(*c.paired, out, terminal);
  print_chart(c, out, terminal);
}

void Comparison::fields(config::Fields& f) {
  std::vector<ListedRow> named;
  for (const Row& row : runs) named.push_back(listed(row));
  const auto list = [&f](const char* name, const std::vector<ComparisonLine>& lines) {
    Value json = Value::object();
    for (const auto& [key, values] : lines) json[key] = values;
    f.as<std::map<std::string, std::vector<Value>>>(
        {name, "by key, the values of the runs in their order; null: a run has none"}, json);
  };
  f.version();
  f({"runs"}, named);
  list("config", config);
  list("environment", environment);
  list("metrics", metrics);
  f({"paired", "of two cross-validations, for each metric; null: their runs do not pair"},
    paired && paired->refusal.empty() ? std::optional(paired->metrics) : std::nullopt);
}

void print_comparison_as_json(const Comparison& c, std::ostream& out) {
  if (c.paired && !c.paired->refusal.empty()) log::warn("their runs do not pair: " + c.paired->refusal);
  print_json(config::written(c), out);
}

void print_difference(const Comparison& c, std::ostream& out, const Terminal& terminal) {
  tell_other_rows(c);
  print_names(c, out, terminal);
  if (c.config.empty()) out << "\nthe configurations are the same\n";
  print_lines("config", c.config, 2, out, terminal);
  print_lines("environment", c.environment, 2, out, terminal);
  const auto metrics = differing(c.metrics);
  if (metrics.empty()) {
    out << "\nthe metrics are the same\n";
  } else {
    out << "\nmetrics\n";
    with_change(metrics).print(out, terminal, "  ");
  }
}

void print_difference_as_json(Comparison c, std::ostream& out) {
  c.metrics = differing(std::move(c.metrics));
  print_comparison_as_json(c, out);
}

}  // namespace ddp::report
