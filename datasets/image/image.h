#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "datasets/image/pixel_scale.h"
#include "datasets/image/pixel_view.h"
#include "datasets/image/resampling.h"
#include "format/image.h"

namespace ddp::datasets {

// Pixels of the border of each side.
struct Border {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t right = 0;
  std::int64_t bottom = 0;
  bool any() const { return left > 0 || top > 0 || right > 0 || bottom > 0; }
};

// An image on its way from a file to a batch: 8-bit pixels, 1 or 3 channels. It is lazy: crops, borders of one color,
// flips and one resampling are remembered, and when pixels are needed, a file decodes only what is left.
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
  // Brings it to another size, which has no side of 0: bilinear and antialiased (resampling.h).
  void resample(const format::ImageSize& size);

  // Returns uint8 [c, h, w], of any strides; it is not to be changed. Throws ddp::Error (usage) where the file is
  // damaged.
  at::Tensor pixels();
  // Takes the place of what was there: uint8 [c, h, w], of any strides.
  void replace(at::Tensor pixels);
  // Writes the number of each pixel to `to`, float32 [c, h, w]. Throws as pixels() does.
  void write(const PixelScale& scale, float* to);

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

  // What is resampled, to this size: a part of the source, neither flipped nor with a border.
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
  at::Tensor kept_;                          // the memory of source_, where that is this image's own
  PixelView source_;
  std::optional<Resampled> resampled_;  // then rows_ and columns_ are those of the new size
  Axis rows_;
  Axis columns_;
  std::array<std::uint8_t, 3> color_ = {};  // of the border
};

}  // namespace ddp::datasets
