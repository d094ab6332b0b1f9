#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "format/image.h"

namespace ddp::datasets {

// A view of pixels in memory that it does not own: 8 bits each, 1 or 3 channels. Strides are in bytes.
struct PixelView {
  const std::uint8_t* data = nullptr;
  std::int64_t channels = 3;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channel_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  bool is_interleaved() const { return channels == 3 && channel_stride == 1 && column_stride == 3; }
};

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

// Resizes an image, bilinear and antialiased. On every CPU the pixels are equal to the result of ATen's
// _upsample_bilinear2d_aa for uint8 on a CPU with AVX2. Computes only the wanted places, from the pixels that they
// need.
class Resampling {
 public:
  // Resizes from `from` to `to`; `rows` and `columns` (at least one each) are the wanted part of the result.
  Resampling(const format::ImageSize& from, const format::ImageSize& to, const Places& rows, const Places& columns);

  // The needed part of the source image.
  format::Rectangle needed() const;

  // Runs the first pass, along the rows, on the next rows of the needed part, from its top. Does not keep `rows`.
  void take(const PixelView& rows);

  // Runs the second pass for one wanted row, after all rows were taken, and returns a pixel for each wanted column. The
  // memory belongs to this object and is valid until the next call.
  const std::uint8_t* row(std::int64_t channel, std::int64_t row);

 private:
  std::uint8_t* kept_row(std::int64_t channel, std::int64_t row);
  void take_rgb(const PixelView& rows);

  const Taps rows_;
  const Taps columns_;
  const std::int64_t stride_;  // bytes of a row between the passes
  std::int64_t taken_ = 0;
  std::unique_ptr<std::uint8_t[]> kept_;  // result of the first pass: [c, needed rows, stride]
  std::vector<std::uint8_t> row_;
};

}  // namespace ddp::datasets
