#pragma once

#include <string_view>

#include "graph/call_list.h"

namespace ddp::graph {

// Returns the function that a graph names so: Python's arithmetic on sizes ("_operator.floordiv"), and reading the
// sizes of a tensor. Null: there is none. Such a function throws std::runtime_error where Python's raises.
CallList::Arithmetic arithmetic_named(std::string_view target);

}  // namespace ddp::graph
