#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "report/select/row.h"

namespace ddp::report {

inline const std::vector<std::string> kPaperFormats = {"latex", "markdown", "csv"};

// Prints a table for a paper: a line for each run, sweep or cross-validation (mean ± std), a column for each metric.
// Of each metric the best value is bold, and `*` marks those whose paired test against the best has p >= 0.05. LaTeX
// needs the package booktabs. CSV has the numbers in full: NAME_mean, NAME_std, NAME_n. Throws ddp::Error (usage) if a
// metric is in none of the rows. `metrics`: in this order; empty: all.
void print_paper_table(const std::vector<Row>& rows, std::vector<std::string> metrics, const std::string& format,
                       std::ostream& out);

}  // namespace ddp::report
