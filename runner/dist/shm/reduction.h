#pragma once

#include <cstddef>

#include <c10/core/ScalarType.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace ddp::dist {

// An element-wise reduction of two ranks' values, for one element type. Plain loops, with AVX2 if the processor has it;
// the bits are the same.
struct Reduction {
  std::size_t element_bytes = 0;
  // `out` may be `a` or `b`.
  void (*combine)(void* out, const void* a, const void* b, std::size_t count) = nullptr;
  // The final operation after all ranks' values are combined: the division of AVG. May be null.
  void (*finish)(void* values, std::size_t count, int world_size) = nullptr;
};

// Bools are combined logically: a sum is an "or". Throws c10::Error for complex and quantised types, bit operations on
// floating-point numbers, the mean of bools, and PREMUL_SUM.
Reduction find_reduction(c10d::ReduceOp::RedOpType op, c10::ScalarType type);

}  // namespace ddp::dist
