#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "format/image.h"

namespace ddp::datasets {

// Pixels in memory that somebody else keeps: 8 bits each, 1 or 3 channels. Strides are in bytes.
struct PixelView {
  const std::uint8_t* data = nullptr;
  std::int64_t channels = 3;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channel_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
};

// Pixels of the border of each side.
struct Border {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t right = 0;
  std::int64_t bottom = 0;
  bool any() const { return left > 0 || top > 0 || right > 0 || bottom > 0; }
};

// A value for each of 256 pixels of up to three channels.
using PixelTable = std::array<std::array<float, 256>, 3>;

// An image on its way from a file to a batch: 8-bit pixels, 1 or 3 channels. It is lazy: crops, borders of one color
// and flips are remembered, and a file decodes only the part that is left when pixels are needed.
class Image {
 public:
  // 3 channels. The file outlives the image.
  explicit Image(const format::ImageFile& file);
  // The pixels outlive the image.
  explicit Image(const PixelView& pixels);
  // uint8 [c, h, w], of any strides. It is not changed.
  explicit Image(at::Tensor pixels);

  // As it is now.
  std::int64_t channels() const { return source_.channels; }
  std::int64_t height() const { return rows_.size; }
  std::int64_t width() const { return columns_.size; }

  // Keeps this part, which lies inside.
  void crop(const format::Rectangle& part);
  // Puts a border of one color around it.
  void pad(const Border& border, const std::array<std::uint8_t, 3>& color);
  void flip_horizontal();
  void flip_vertical();

  // Returns uint8 [c, h, w], of any strides; it is not to be changed. Throws ddp::Error (usage) where the file is
  // damaged.
  at::Tensor pixels();
  // Takes the place of what was there: uint8 [c, h, w], of any strides.
  void replace(at::Tensor pixels);
  // Writes the table's value of each pixel to `to`, float32 [c, h, w]. Throws as pixels() does.
  void look_up(const PixelTable& table, float* to);

 private:
  // Rows or columns: how they lie in the source. Those of the border are in none.
  struct Axis {
    std::int64_t size = 0;   // with the border
    std::int64_t at = 0;     // where the pixels of the source begin
    std::int64_t begin = 0;  // the first pixel of the source
    std::int64_t count = 0;  // pixels of the source
    bool flipped = false;

    void crop(std::int64_t from, std::int64_t length);
    void pad(std::int64_t before, std::int64_t after);
    void flip();
  };

  void begin();
  void decode();
  bool is_plain() const;
  template <class Number>
  void copy(const Number* const* values, Number* to) const;

  const format::ImageFile* file_ = nullptr;  // null: decoded
  at::Tensor kept_;                          // the memory of source_, where that is this image's own
  PixelView source_;
  Axis rows_;
  Axis columns_;
  std::array<std::uint8_t, 3> color_ = {};  // of the border
};

}  // namespace ddp::datasets
