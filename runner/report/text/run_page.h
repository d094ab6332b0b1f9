#pragma once

#include <iosfwd>

#include "report/select/row.h"
#include "report/text/terminal.h"

namespace ddp::report {

// What `show` prints of one run: how it went, and what there is of it; of a sweep: its ranking. `row.run` names it.
void print_page(const Row& row, std::ostream& out, const Terminal& terminal);
void print_page_as_json(const Row& row, std::ostream& out);

// A sweep's part of it.
void print_sweep(const std::string& name, const SweepView& sweep, std::ostream& out, const Terminal& terminal);

}  // namespace ddp::report
