#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "datasets/image/resampling.h"
#include "format/image.h"

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

// Pixels of the border of each side.
struct Border {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t right = 0;
  std::int64_t bottom = 0;
  bool any() const { return left > 0 || top > 0 || right > 0 || bottom > 0; }
};

// An image between its file and a batch: 8-bit pixels, 1 or 3 channels. It is lazy: it records crops, borders of one
// color, flips and one resampling, and decodes only the remaining part of its file when pixels are needed.
class Image {
 public:
  // 3 channels. The file must outlive the image.
  explicit Image(const format::ImageFile& file);
  // The pixels must outlive the image.
  explicit Image(const PixelView& pixels);
  // `pixels`: uint8 [c, h, w], with any strides. The image does not change them.
  explicit Image(at::Tensor pixels);

  // The current shape, after all operations so far.
  std::int64_t channels() const { return source_.channels; }
  std::int64_t height() const { return rows_.size; }
  std::int64_t width() const { return columns_.size; }

  // Keeps a part, which lies inside the image and its border.
  void crop(const format::Rectangle& part);
  // Adds a border of one color.
  void pad(const Border& border, const std::array<std::uint8_t, 3>& color);
  void flip_horizontal();
  void flip_vertical();
  // Resizes the image; both sides of `size` are above 0. Bilinear and antialiased (resampling.h).
  void resample(const format::ImageSize& size);

  // Returns uint8 [c, h, w], with any strides. The caller must not change it. Throws ddp::Error (usage) if the file is
  // damaged.
  at::Tensor pixels();
  // Replaces the image by `pixels`: uint8 [c, h, w], with any strides.
  void replace(at::Tensor pixels);
  // Writes the scaled pixels to `to`, float32 [c, h, w]. Throws as pixels() does.
  void write(const PixelScale& scale, float* to);

 private:
  // The rows or columns of the image, and their place in the source. The source has no pixels of the border.
  struct Axis {
    std::int64_t size = 0;   // with the border
    std::int64_t at = 0;     // place of the source's pixels in the image
    std::int64_t begin = 0;  // the first pixel of the source
    std::int64_t count = 0;  // pixels of the source
    bool flipped = false;

    void crop(std::int64_t from, std::int64_t length);
    void pad(std::int64_t before, std::int64_t after);
    void flip();
  };

  // The input of a resampling to `size`: a rectangle of the source, without flips and border.
  struct Resampled {
    format::ImageSize size;
    Axis rows;
    Axis columns;
  };

  void begin();
  void decode_part();
  Resampling resample_part() const;
  bool is_plain() const;
  bool is_empty() const { return rows_.count == 0 || columns_.count == 0; }
  template <class Scale, class Number>
  void copy(const Scale& scale, Number* to);
  template <class Scale, class Number, class Row>
  void copy_rows(const Scale& scale, const Row& pixels_of, std::int64_t step, Number* to) const;

  const format::ImageFile* file_ = nullptr;  // null: decoded
  at::Tensor kept_;                          // the memory of source_, if this image owns it
  PixelView source_;
  std::optional<Resampled> resampled_;  // if set, rows_ and columns_ belong to the new size
  Axis rows_;
  Axis columns_;
  std::array<std::uint8_t, 3> color_ = {};  // color of the border
};

}  // namespace ddp::datasets
