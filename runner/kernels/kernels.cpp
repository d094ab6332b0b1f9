#include "kernels/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>

// Compiles a function for several sets of vector instructions; the program's start chooses one. The floor is compiled
// without contraction of products and sums, so all of them give the same bits.
#define DDP_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))

namespace ddp::kernels {
namespace {

constexpr int kLevels = 4;
constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kIlp = 4;  // rows that are summed side by side where a block has few columns
constexpr std::int64_t kMostWidth = kIlp * kLanes;

// Sums of a block of columns at one level of the cascade.
using Level = float[kMostWidth];

inline void add(const float* row, std::int64_t width, float* sums) {
  for (std::int64_t k = 0; k < width; ++k) sums[k] += row[k];
}

// multi_row_sum(): adds up `count` rows of `width` numbers, `stride` numbers apart. Sums of short runs of rows enter a
// sum of the next level, and so on: rounding errors stay small.
inline void cascade(const float* rows, std::int64_t stride, std::int64_t count, std::int64_t width, float* sums) {
  const std::int64_t power =
      std::max<std::int64_t>(4, (count <= 2 ? 1 : std::bit_width(static_cast<std::uint64_t>(count - 1))) / kLevels);
  const std::int64_t run = std::int64_t{1} << power;
  std::fill_n(sums, width, 0.0F);
  if (count < run) {
    for (std::int64_t i = 0; i < count; ++i) add(rows + i * stride, width, sums);
    return;
  }
  Level upper[kLevels] = {};  // but for the first level, which is `sums`
  std::int64_t i = 0;
  while (i + run <= count) {
    for (std::int64_t k = 0; k < run; ++k, ++i) add(rows + i * stride, width, sums);
    for (std::int64_t level = 1; level < kLevels; ++level) {
      float* const below = level == 1 ? sums : upper[level - 1];
      add(below, width, upper[level]);
      std::fill_n(below, width, 0.0F);
      if ((i & ((run - 1) << (level * power))) != 0) break;
    }
  }
  for (; i < count; ++i) add(rows + i * stride, width, sums);
  for (int level = 1; level < kLevels; ++level) add(upper[level], width, sums);
}

// row_sum(): the same as four sums, of each fourth row, which are added at the end.
inline void cascade_of_four(const float* rows, std::int64_t stride, std::int64_t count, std::int64_t width,
                            float* sums) {
  Level others;
  const std::int64_t each = count / kIlp;
  cascade(rows, kIlp * stride, each, width, sums);
  for (std::int64_t i = each * kIlp; i < count; ++i) add(rows + i * stride, width, sums);
  for (std::int64_t k = 1; k < kIlp; ++k) {
    cascade(rows + k * stride, kIlp * stride, each, width, others);
    add(others, width, sums);
  }
}

constexpr std::int64_t kPairs = 512;  // numbers that are drawn together

inline std::uint32_t mixed(std::uint32_t u, std::uint32_t v) {
  const std::uint32_t bits = (u & 0x80000000) | (v & 0x7fffffff);
  return (bits >> 1) ^ (-(v & 1) & 0x9908b0df);
}

DDP_CLONES void twist(std::uint32_t* s) {
  constexpr int kAhead = 397, kBehind = Twister::kWords - kAhead;
  for (int i = 0; i < kBehind; ++i) s[i] = s[i + kAhead] ^ mixed(s[i], s[i + 1]);
  for (int i = kBehind; i < Twister::kWords - 1; ++i) s[i] = s[i - kBehind] ^ mixed(s[i], s[i + 1]);
  s[Twister::kWords - 1] = s[kAhead - 1] ^ mixed(s[Twister::kWords - 1], s[0]);
}

DDP_CLONES void temper(const std::uint32_t* s, std::uint32_t* words, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t y = s[i];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    words[i] = y ^ (y >> 18);
  }
}

void take_words(Twister& twister, std::uint32_t* words, std::int64_t count) {
  while (count > 0) {
    if (twister.left == 1) {
      twist(twister.state);
      twister.left = Twister::kWords + 1;
      twister.next = 0;
    }
    const std::int64_t now = std::min<std::int64_t>(count, twister.left - 1);
    temper(twister.state + twister.next, words, now);
    twister.next += static_cast<std::uint32_t>(now);
    twister.left -= static_cast<int>(now);
    words += now;
    count -= now;
  }
}

// The first word of a pair is the upper one of 64 bits, of which ATen takes the lower 53.
DDP_CLONES void compare(const std::uint32_t* words, std::int64_t below, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::int64_t>(std::uint64_t{words[2 * i] & 0x1fffff} << 32 | words[2 * i + 1]);
    out[i] = bits < below ? 1.0F : 0.0F;
  }
}

}  // namespace

// vectorized_outer_sum(), or scalar_outer_sum() if no vector is full
DDP_CLONES void sum_rows(const float* matrix, std::int64_t rows, std::int64_t columns, float* out) {
  if (columns == 1) {
    *out = sum(matrix, rows);
    return;
  }
  const std::int64_t block = columns < kLanes ? kIlp : kIlp * kLanes;
  std::int64_t column = 0;
  for (; column + block <= columns; column += block) cascade(matrix + column, columns, rows, block, out + column);
  if (column < columns) cascade_of_four(matrix + column, columns, rows, columns - column, out + column);
}

// vectorized_inner_sum(), or scalar_inner_sum() if no vector is full
DDP_CLONES float sum(const float* numbers, std::int64_t count) {
  Level sums;
  if (count < kLanes) {
    cascade_of_four(numbers, 1, count, 1, sums);
    return sums[0];
  }
  const std::int64_t vectors = count / kLanes;
  cascade_of_four(numbers, kLanes, vectors, kLanes, sums);
  float total = 0;
  for (std::int64_t i = vectors * kLanes; i < count; ++i) total += numbers[i];
  for (std::int64_t k = 0; k < kLanes; ++k) total += sums[k];
  return total;
}

DDP_CLONES void scaled_sum(const float* const* a, std::size_t ranks, float factor, float* out, std::int64_t count) {
  constexpr std::int64_t kBlock = 2048;
  float sum[kBlock];
  for (std::int64_t from = 0; from < count; from += kBlock) {
    const std::int64_t length = std::min(kBlock, count - from);
    for (std::int64_t i = 0; i < length; ++i) sum[i] = factor * a[0][from + i];
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      const float* const more = a[rank] + from;
      for (std::int64_t i = 0; i < length; ++i) sum[i] += factor * more[i];
    }
    std::copy_n(sum, length, out + from);
  }
}

DDP_CLONES void scale(const float* a, float factor, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] * factor;
}

DDP_CLONES void relu(const float* a, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] < 0 ? 0 : a[i];
}

DDP_CLONES void threshold_backward(const float* gradient, const float* a, float threshold, float* out,
                                   std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float kept = gradient[i];  // read in any case: a vector needs no branch then
    out[i] = a[i] <= threshold ? 0 : kept;
  }
}

DDP_CLONES void squared_difference(const float* a, const float* b, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float difference = a[i] - b[i];
    out[i] = difference * difference;
  }
}

DDP_CLONES void mse_backward(float gradient, const float* a, const float* b, float factor, float* out,
                             std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = factor * (a[i] - b[i]) * gradient;
}

void bernoulli(Twister& twister, double p, float* out, std::int64_t count) {
  // ATen asks bits * 2^-53 < p, in which nothing is rounded.
  const auto below = static_cast<std::int64_t>(std::ceil(p * 0x1p53));
  std::uint32_t words[2 * kPairs];
  for (std::int64_t done = 0; done < count; done += kPairs) {
    const std::int64_t now = std::min(kPairs, count - done);
    take_words(twister, words, 2 * now);
    compare(words, below, out + done, now);
  }
}

DDP_CLONES void philox(std::uint64_t seed, std::uint64_t epoch, std::uint64_t first, std::uint64_t* out) {
  // Words of 32 bits in 64. The casts tell the compiler so: vectors multiply them at once.
  std::uint64_t a[kPhilox], b[kPhilox], c[kPhilox], d[kPhilox];
  for (std::uint64_t i = 0; i < kPhilox; ++i) {
    a[i] = 0;
    b[i] = epoch;
    c[i] = (first + i) & 0xffffffff;
    d[i] = (first + i) >> 32;
  }
  std::uint64_t key = seed & 0xffffffff, other_key = seed >> 32;
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < kPhilox; ++i) {
      const std::uint64_t left = std::uint64_t{0xd2511f53} * static_cast<std::uint32_t>(a[i]);
      const std::uint64_t right = std::uint64_t{0xcd9e8d57} * static_cast<std::uint32_t>(c[i]);
      a[i] = (right >> 32) ^ b[i] ^ key;
      b[i] = right & 0xffffffff;
      c[i] = (left >> 32) ^ d[i] ^ other_key;
      d[i] = left & 0xffffffff;
    }
    key = (key + 0x9e3779b9) & 0xffffffff;
    other_key = (other_key + 0xbb67ae85) & 0xffffffff;
  }
  for (std::size_t i = 0; i < kPhilox; ++i) out[i] = a[i] << 32 | b[i];
}

}  // namespace ddp::kernels
