#include "report/text/paper_table.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <ostream>

#include "base/error.h"
#include "base/text_number.h"
#include "config/metric.h"
#include "report/text/words.h"

namespace ddp::report {
namespace {

constexpr double kSignificant = 0.05;

// A metric of a row.
struct PaperCell {
  std::optional<double> mean = {};
  std::optional<double> std = {};
  std::int64_t n = 0;
  bool is_best = false;
  bool is_no_worse = false;  // the test does not tell it from the best
};

PaperCell cell_of(const Row& row, const std::string& metric) {
  PaperCell cell{.mean = metric_of(row, metric)};
  cell.n = cell.mean ? 1 : 0;
  const SweepView* sweep = row.as_sweep();
  if (!sweep || !sweep->result) return cell;
  const auto found = sweep->result->metrics.find(metric);
  if (found == sweep->result->metrics.end()) return cell;
  cell.std = found->second.std;
  cell.n = found->second.n;
  return cell;
}

// Do the pairs of two cross-validations leave open which is better?
bool is_open(const Row& one, const Row& other, const std::string& metric) {
  const SweepView *a = one.as_sweep(), *b = other.as_sweep();
  if (!a || !b || !a->result || !b->result) return false;
  const record::Pairing pairing = record::pair(*a->result, *b->result);
  return std::any_of(pairing.metrics.begin(), pairing.metrics.end(), [&](const record::PairedDifference& difference) {
    return difference.metric == metric && difference.p >= kSignificant;
  });
}

// The goal of a metric by which one of the rows ranks its runs; "": there is none.
std::string goal_of(const std::vector<Row>& rows, const std::string& metric) {
  for (const Row& row : rows) {
    const SweepView* sweep = row.as_sweep();
    if (sweep && sweep->metric == metric) return sweep->goal;
  }
  return "";
}

std::vector<PaperCell> column_of(const std::vector<Row>& rows, const std::string& metric) {
  std::vector<PaperCell> cells;
  for (const Row& row : rows) cells.push_back(cell_of(row, metric));
  const std::string goal = goal_of(rows, metric);
  const config::Components components = config::Components::installed();
  const std::string judged = metric.starts_with(config::kTestPrefix)
                                 ? config::kValidationPrefix + metric.substr(config::kTestPrefix.size())
                                 : metric;
  if (goal.empty() && !config::has_direction(judged, components)) return cells;
  const config::Metric better{.name = metric, .direction = config::direction_for(goal, judged, components)};
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].mean && (!best || better.is_better(*cells[i].mean, *cells[*best].mean))) best = i;
  }
  if (!best || cells.size() < 2) return cells;
  cells[*best].is_best = true;
  for (std::size_t i = 0; i < cells.size(); ++i)
    cells[i].is_no_worse = i != *best && is_open(rows[i], rows[*best], metric);
  return cells;
}

// The name of an experiment, or of the run if several rows have the name.
std::string title_of(const std::vector<Row>& rows, const Row& row) {
  const std::string& name = row.view().name;
  const auto has_name = [&](const Row& other) { return other.view().name == name; };
  return name.empty() || std::count_if(rows.begin(), rows.end(), has_name) > 1 ? row.run : name;
}

std::string in_latex(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\textbackslash{}";
    } else if (c == '~' || c == '^') {
      escaped += std::string("\\") + c + "{}";
    } else {
      if (std::string("&%$#_{}").find(c) != std::string::npos) escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::string in_markdown(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string("\\|*_`<>").find(c) != std::string::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string in_full(const std::optional<double>& number) {
  char text[40];
  return number ? std::string(text, std::to_chars(text, text + sizeof text, *number).ptr) : "";
}

std::string latex_cell(const PaperCell& cell) {
  if (!cell.mean) return "--";
  const std::string mean = in_words(*cell.mean);
  return (cell.is_best ? "\\textbf{" + mean + "}" : mean) + (cell.std ? " $\\pm$ " + in_words(*cell.std) : "") +
         (cell.is_no_worse ? "$^{*}$" : "");
}

std::string markdown_cell(const PaperCell& cell) {
  if (!cell.mean) return "-";
  const std::string text = in_words(*cell.mean) + (cell.std ? " ± " + in_words(*cell.std) : "");
  return (cell.is_best ? "**" + text + "**" : text) + (cell.is_no_worse ? "\\*" : "");
}

}  // namespace

void print_paper_table(const std::vector<Row>& rows, std::vector<std::string> metrics, const std::string& format,
                       std::ostream& out) {
  const std::vector<std::string> known = metrics_of(rows);
  for (const std::string& metric : metrics) {
    if (std::find(known.begin(), known.end(), metric) != known.end()) continue;
    throw usage_error("no run has the metric \"" + metric + "\"", "--metrics",
                      "the metrics of these runs: " + joined(known));
  }
  if (metrics.empty()) metrics = known;
  std::vector<std::vector<PaperCell>> columns;
  for (const std::string& metric : metrics) columns.push_back(column_of(rows, metric));

  if (format == "csv") {
    out << "run";
    for (const std::string& metric : metrics)
      out << "," << csv_cell(metric + "_mean") << "," << csv_cell(metric + "_std") << "," << csv_cell(metric + "_n");
    out << "\n";
    for (std::size_t i = 0; i < rows.size(); ++i) {
      out << csv_cell(title_of(rows, rows[i]));
      for (const auto& column : columns)
        out << "," << in_full(column[i].mean) << "," << in_full(column[i].std) << "," << column[i].n;
      out << "\n";
    }
    return;
  }
  const bool is_latex = format == "latex";
  if (is_latex) {
    out << "% \\usepackage{booktabs}\n\\begin{tabular}{l" << std::string(metrics.size(), 'r') << "}\n\\toprule\n ";
    for (const std::string& metric : metrics) out << "& " << in_latex(metric) << " ";
    out << "\\\\\n\\midrule\n";
  } else {
    out << "| |";
    for (const std::string& metric : metrics) out << " " << in_markdown(metric) << " |";
    out << "\n|---|";
    for (std::size_t i = 0; i < metrics.size(); ++i) out << "---:|";
    out << "\n";
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string title = title_of(rows, rows[i]);
    out << (is_latex ? in_latex(title) + " " : "| " + in_markdown(title) + " |");
    for (const auto& column : columns)
      out << (is_latex ? "& " + latex_cell(column[i]) + " " : " " + markdown_cell(column[i]) + " |");
    out << (is_latex ? "\\\\\n" : "\n");
  }
  if (is_latex) out << "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace ddp::report
