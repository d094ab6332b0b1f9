#pragma once

#include <cstdint>
#include <memory>
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

  // Takes the next rows of the part that is needed, from its top: the first of two passes, that along the rows. They
  // are not looked at later.
  void take(const PixelView& rows);

  // The second pass, when all rows were taken: for one of the rows that are wanted: as many pixels as columns are. The
  // memory is this object's, until the next call.
  const std::uint8_t* row(std::int64_t channel, std::int64_t row);

 private:
  std::uint8_t* kept_row(std::int64_t channel, std::int64_t row);
  void take_rgb(const PixelView& rows);

  const Taps rows_;
  const Taps columns_;
  const std::int64_t stride_;  // of a row between the passes, in bytes
  std::int64_t taken_ = 0;
  std::unique_ptr<std::uint8_t[]> kept_;  // between the passes: [c, rows that are needed, stride]
  std::vector<std::uint8_t> row_;
};

}  // namespace ddp::datasets
