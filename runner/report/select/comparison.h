#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "report/select/row.h"
#include "report/text/terminal.h"

namespace ddp::report {

// A key and what each run has for it; null where one has none.
using Line = std::pair<std::string, std::vector<config::Value>>;

// Several runs side by side.
struct Comparison {
  std::vector<Row> runs;          // runs alone
  std::vector<Line> config;       // of config.toml, only what differs; not the name, which each run's own name tells
  std::vector<Line> metrics;      // at the end, the best, and what it took
  std::vector<Line> environment;  // ranks, versions and the like, only what differs
};

// Throws ddp::Error (usage) where a run's config.toml cannot be read.
Comparison compare(std::vector<Row> runs);

// "A", "B", …, "Z", "AA": what a run is called where its name is too long.
std::string letter(std::size_t index);

// What `compare` prints: the lines, and the loss curves.
void print_comparison(const Comparison& comparison, std::ostream& out, const Terminal& terminal);
void print_comparison_as_json(const Comparison& comparison, std::ostream& out);

// What `diff` prints of two runs: only what differs.
void print_difference(const Comparison& comparison, std::ostream& out, const Terminal& terminal);
void print_difference_as_json(const Comparison& comparison, std::ostream& out);

}  // namespace ddp::report
