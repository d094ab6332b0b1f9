#pragma once

#include <cstdint>
#include <vector>

namespace ddp::datasets {

// `count` places of one axis of an image from `begin` on, in reverse order if `flipped`.
struct Places {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  bool flipped = false;
};

// The weights of a resampling along one axis. Place i is the weighted sum of counts[i] pixels from firsts[i] on, in
// fixed point: weights are multiples of 2^-precision.
struct Taps {
  std::vector<std::int32_t> firsts;
  std::vector<std::int32_t> counts;
  std::vector<std::int16_t> weights;  // `width` weights for each place, padded with 0
  std::int64_t width = 0;             // 2, or a multiple of 4
  int precision = 0;
  // The pixels that the places need: from `begin` up to, not including, `end`.
  std::int32_t begin = 0;
  std::int32_t end = 0;

  std::int64_t places() const { return static_cast<std::int64_t>(firsts.size()); }
  const std::int16_t* weights_of(std::int64_t place) const { return weights.data() + place * width; }
};

// Returns the taps of `places` for an axis that is resized from `from` to `to` pixels (both 1 to 2^24), bilinear and
// antialiased. The weights are equal to the weights of ATen's _upsample_bilinear2d_aa for uint8 on a CPU with AVX2
// (aten/src/ATen/native/cpu/UpSampleKernel.cpp): doubles, rounded to the highest precision at which the greatest weight
// fits into an int16.
Taps bilinear_taps(std::int64_t from, std::int64_t to, const Places& places);

}  // namespace ddp::datasets
