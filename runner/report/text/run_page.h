#pragma once

#include <iosfwd>

#include "report/select/row.h"
#include "report/text/terminal.h"

namespace ddp::report {

// Prints the output of `show` for one run: its results and its files; for a sweep, its ranking. `row.run` names it.
void print_page(const Row& row, std::ostream& out, const Terminal& terminal);
void print_page_as_json(const Row& row, std::ostream& out);

// Prints the part of a sweep.
void print_sweep(const std::string& name, const SweepView& sweep, std::ostream& out, const Terminal& terminal);

}  // namespace ddp::report
