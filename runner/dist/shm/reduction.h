#pragma once

#include <cstddef>

#include <c10/core/ScalarType.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace ddp::dist {

// How two ranks' values become one, element by element, for one type of element. Plain loops, in AVX2 where the
// processor has it; the bits are the same.
struct Reduction {
  std::size_t element_bytes = 0;
  // out may be a or b.
  void (*combine)(void* out, const void* a, const void* b, std::size_t count) = nullptr;
  // What is left to do once all ranks' values are combined: the division of AVG. May be null.
  void (*finish)(void* values, std::size_t count, int world_size) = nullptr;
};

// Truth values are combined as such (a sum is an "or"). Throws c10::Error for complex and quantised types, for bits of
// floating numbers, for the mean of truth values and for PREMUL_SUM.
Reduction find_reduction(c10d::ReduceOp::RedOpType op, c10::ScalarType type);

}  // namespace ddp::dist
