#pragma once

#include <string_view>

namespace ddp::graph {

// May a graph call this operator of ATen? The name is that of the schema, "add" or "add_", without its overload.
// Allowed are operators that compute on tensors. None of them opens a file or starts a process. Some of their kernels,
// which are LibTorch's, trust shapes and numbers that they are given: argument_checks.h looks at these before each
// call.
bool is_allowed(std::string_view name);

// Does it draw from the random generator, whatever its arguments are?
bool draws(std::string_view name);

// Does it give a tensor another shape, or other strides, in place?
bool reshapes_in_place(std::string_view name);

}  // namespace ddp::graph
