#pragma once

#include <cstdint>

// Loops over memory with the bits of ATen's kernels. Each number is computed from the same numbers by the same
// operations in the same order as in ATen, so that the width of a vector register does not matter. Arrays do not
// overlap unless a comment says so.
namespace ddp::kernels {

// out = factor * a
void scale(const float* a, float factor, float* out, std::int64_t count);
// out = factor * a of the first rank + factor * a of the second one + ...; `out` may be one of them
void scaled_sum(const float* const* a, std::size_t ranks, float factor, float* out, std::int64_t count);
// out = max(a, 0), and NaN for NaN (at::relu)
void relu(const float* a, float* out, std::int64_t count);
// out = 0 where a <= threshold, otherwise the gradient (at::threshold_backward)
void threshold_backward(const float* gradient, const float* a, float threshold, float* out, std::int64_t count);
// out = (a - b)^2
void squared_difference(const float* a, const float* b, float* out, std::int64_t count);
// out = (factor * (a - b)) * gradient (mse_backward in BinaryOpsKernel.cpp)
void mse_backward(float gradient, const float* a, const float* b, float factor, float* out, std::int64_t count);

// The state of ATen's generator for the CPU (at::mt19937_data_pod, Matsumoto and Nishimura 1998).
struct Twister {
  static constexpr int kWords = 624;

  std::uint32_t* state;
  int left;            // words that the state still gives, and one more
  std::uint32_t next;  // the place of the next one
};
// out = 1 with the probability p, otherwise 0: bernoulli_kernel() in aten/src/ATen/native/cpu/DistributionTemplates.h,
// which takes two words for each number.
void bernoulli(Twister& twister, double p, float* out, std::int64_t count);

// out[i] = the first 64 bits of Draws(seed, epoch, first + i) in datasets/draws.h, for i below kPhilox: Philox4x32-10
// (Salmon et al. 2011).
constexpr std::size_t kPhilox = 64;
void philox(std::uint64_t seed, std::uint64_t epoch, std::uint64_t first, std::uint64_t* out);

// Sums with the order of additions of ATen's (aten/src/ATen/native/cpu/SumKernel.cpp), which LibTorch compiles for
// vectors of eight floats.

// Adds up the rows of a matrix without gaps: out[column].
void sum_rows(const float* matrix, std::int64_t rows, std::int64_t columns, float* out);

// Returns the sum of numbers that lie together.
float sum(const float* numbers, std::int64_t count);

}  // namespace ddp::kernels
