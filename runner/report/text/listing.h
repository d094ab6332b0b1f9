#pragma once

#include <iosfwd>
#include <vector>

#include "report/select/row.h"
#include "report/text/terminal.h"

namespace ddp::report {

// Prints the output of `list`: a table of runs and sweeps in the given order.
void print_list(const std::vector<Row>& rows, std::ostream& out, const Terminal& terminal);
void print_list_as_json(const std::vector<Row>& rows, std::ostream& out);

}  // namespace ddp::report
