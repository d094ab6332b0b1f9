#pragma once

#include <iosfwd>

#include "config/value.h"
#include "report/text/terminal.h"

namespace ddp::commands {

// Prints for people what the data are, as data::describe tells it: samples, classes, columns, arrays, the first batch.
// Long lists are cut.
void show_data(const config::Value& data, std::ostream& out, const report::Terminal& terminal);

}  // namespace ddp::commands
