#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "datasets/image/pixel_view.h"
#include "datasets/image/taps.h"
#include "format/image.h"

namespace ddp::datasets {

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
