#pragma once

#include <iosfwd>

#include "config/value.h"
#include "report/text/table.h"

namespace ddp::commands {

// Prints the output of data::describe for people: samples, classes, columns, arrays, the first batch. Cuts long lists.
void show_data(const config::Value& data, std::ostream& out, const report::Terminal& terminal);

}  // namespace ddp::commands
