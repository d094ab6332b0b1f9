#pragma once

#include <string_view>

#include "graph/call_list.h"

namespace ddp::graph {

// Returns the function with this name in a graph: Python's arithmetic on sizes ("_operator.floordiv"), or reading the
// sizes of a tensor. Null if the name is unknown. The function throws std::runtime_error where Python raises.
CallList::Arithmetic arithmetic_named(std::string_view target);

}  // namespace ddp::graph
