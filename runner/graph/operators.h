#pragma once

#include <string_view>

#include "graph/executor.h"

namespace ddp::graph {

// May a graph call this operator of ATen? The name is the schema's, "add" or "add_", without overload. Allowed
// operators compute on tensors; none opens a file or starts a process. Some of LibTorch's kernels trust the shapes and
// numbers of their arguments: argument_checks.h checks these before each call.
bool is_allowed(std::string_view name);

// Does the operator always draw from the random generator?
bool draws(std::string_view name);

// Does the operator change a tensor's shape or strides in place?
bool reshapes_in_place(std::string_view name);

// Returns the function with this name in a graph: Python's arithmetic on sizes ("_operator.floordiv"), or reading the
// sizes of a tensor. Null if the name is unknown. The function throws std::runtime_error where Python raises.
CallList::Arithmetic arithmetic_named(std::string_view target);

}  // namespace ddp::graph
