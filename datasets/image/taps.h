#pragma once

#include <cstdint>
#include <vector>

namespace ddp::datasets {

// Places of one axis of an image: `count` of them from `begin` on, in reverse order where the axis is flipped.
struct Places {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  bool flipped = false;
};

// How one axis is resampled. Place i becomes the sum of counts[i] pixels from firsts[i] on, each times its weight, in
// fixed point: weights are multiples of 2^-precision.
struct Taps {
  std::vector<std::int32_t> firsts;
  std::vector<std::int32_t> counts;
  std::vector<std::int16_t> weights;  // `width` for each place; those behind the last pixel are 0
  std::int64_t width = 0;             // 2, or a multiple of 4
  int precision = 0;
  // The pixels that all places together need: from `begin` up to, not including, `end`.
  std::int32_t begin = 0;
  std::int32_t end = 0;

  std::int64_t places() const { return static_cast<std::int64_t>(firsts.size()); }
  const std::int16_t* weights_of(std::int64_t place) const { return weights.data() + place * width; }
};

// Returns the taps of these places of an axis that is brought from `from` to `to` pixels (1 to 2^24, both), bilinear
// and antialiased, with the weights of ATen's _upsample_bilinear2d_aa for uint8 on a CPU with AVX2
// (aten/src/ATen/native/cpu/UpSampleKernel.cpp): doubles, rounded to as many bits as an int16 holds of the greatest
// one.
Taps bilinear_taps(std::int64_t from, std::int64_t to, const Places& places);

}  // namespace ddp::datasets
