#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace ddp::datasets {

// A value for each of the 256 pixel values, for up to three channels.
using PixelTable = std::array<std::array<float, 256>, 3>;

// (pixel / 255 - mean) / std of each channel, in float32.
struct Normalization {
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> std = {1, 1, 1};
};

// Turns pixels into numbers.
class PixelScale {
 public:
  PixelScale() = default;
  // Scales by the table. If `formula` gives the bits of all values of the table, write() computes it instead, because a
  // formula can be vectorized.
  PixelScale(const PixelTable& table, std::int64_t channels, const std::optional<Normalization>& formula);

  float of(std::int64_t channel, std::uint8_t pixel) const { return table_[static_cast<std::size_t>(channel)][pixel]; }
  // Writes the numbers of a row of pixels, which lie `step` bytes apart.
  void write(std::int64_t channel, const std::uint8_t* from, std::int64_t step, std::int64_t count, float* to) const;

 private:
  PixelTable table_ = {};
  std::optional<Normalization> formula_;
};

}  // namespace ddp::datasets
