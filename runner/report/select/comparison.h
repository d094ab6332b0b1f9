#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/select/row.h"
#include "report/text/table.h"

namespace ddp::report {

// A key and its value in each run; null if the run has none.
using ComparisonLine = std::pair<std::string, std::vector<config::Value>>;

// Several runs side by side.
struct Comparison {
  std::vector<Row> runs;                // and cross-validations; no sweeps
  std::vector<ComparisonLine> config;   // differences of config.toml, except the name, a part of each run's own name
  std::vector<ComparisonLine> metrics;  // last and best values, and costs
  std::vector<ComparisonLine> environment;     // differences of ranks, versions and other surroundings
  std::optional<record::Pairing> paired = {};  // of two cross-validations

  void fields(config::Fields& f);
};

// Returns groups of rows that were not measured on the same rows: {{0, 2}, {1}}; empty: all were, or it is unknown.
std::vector<std::vector<std::size_t>> other_rows(const std::vector<Row>& rows);

// Throws ddp::Error (usage) if a run's config.toml cannot be read.
Comparison compare(std::vector<Row> runs);

// Returns "A", "B", …, "Z", "AA": a short name for a run.
std::string letter(std::size_t index);

// Prints the output of `compare`: the lines and the loss curves.
void print_comparison(const Comparison& comparison, std::ostream& out, const Terminal& terminal);
void print_comparison_as_json(const Comparison& comparison, std::ostream& out);

// Prints the output of `diff`: only the differences of two runs.
void print_difference(const Comparison& comparison, std::ostream& out, const Terminal& terminal);
void print_difference_as_json(Comparison comparison, std::ostream& out);

}  // namespace ddp::report
