#pragma once

#include <cstdint>
#include <vector>

#include "datasets/image/pixel_view.h"
#include "datasets/image/taps.h"
#include "format/image.h"

namespace ddp::datasets {

// An image in another size, bilinear and antialiased, with the pixels of ATen's _upsample_bilinear2d_aa for uint8 on a
// CPU with AVX2, whatever this CPU has. Only the places that are wanted are worked out, of the pixels that they need.
class Resampling {
 public:
  // An image of size `from` becomes one of size `to`, of which these rows and columns (one at least) are wanted.
  Resampling(const format::ImageSize& from, const format::ImageSize& to, const Places& rows, const Places& columns);

  // The part of the image that is needed.
  format::Rectangle needed() const;

  // The first of two passes: that along the rows, for each row that is needed. `part`: the pixels that are needed,
  // which are not looked at later.
  void start(const PixelView& part);

  // The second pass, for one of the rows that are wanted: as many pixels as columns are. The memory is this object's,
  // until the next call.
  const std::uint8_t* row(std::int64_t channel, std::int64_t row);

 private:
  std::uint8_t* kept_row(std::int64_t channel, std::int64_t row);
  void start_rgb(const PixelView& part);

  const Taps rows_;
  const Taps columns_;
  const std::int64_t stride_;       // of a row between the passes, in bytes
  std::vector<std::uint8_t> kept_;  // between the passes: [c, rows that are needed, stride]
  std::vector<std::uint8_t> row_;
};

}  // namespace ddp::datasets
