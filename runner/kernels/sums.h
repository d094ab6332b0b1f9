#pragma once

#include <cstdint>

// Sums with the order of additions of ATen's (aten/src/ATen/native/cpu/SumKernel.cpp), which LibTorch compiles for
// vectors of eight floats.
namespace ddp::kernels {

// Adds up the rows of a matrix without gaps: out[column].
void sum_rows(const float* matrix, std::int64_t rows, std::int64_t columns, float* out);

// Returns the sum of numbers that lie together.
float sum(const float* numbers, std::int64_t count);

}  // namespace ddp::kernels
