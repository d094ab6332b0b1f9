#pragma once

#include <string_view>

namespace ddp::graph {

// May a graph call this operator of ATen? The name is that of the schema, "add" or "add_", without its overload.
// Allowed are operators that compute on tensors. None of them opens a file or starts a process. Their kernels are
// LibTorch's: some of them (lstm, embedding_bag, _weight_norm) trust shapes and indices that they are given.
bool is_allowed(std::string_view name);

// Does it draw from the random generator, whatever its arguments are?
bool draws(std::string_view name);

}  // namespace ddp::graph
