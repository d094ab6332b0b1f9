#include "datasets/image/image.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace ddp::datasets {
namespace {

PixelView view_of(const at::Tensor& pixels) {
  return {.data = pixels.const_data_ptr<std::uint8_t>(),
          .channels = pixels.size(0),
          .height = pixels.size(1),
          .width = pixels.size(2),
          .channel_stride = pixels.stride(0),
          .row_stride = pixels.stride(1),
          .column_stride = pixels.stride(2)};
}

// Pixels as they are, in the form of a table.
constexpr std::array<std::uint8_t, 256> kIdentity = [] {
  std::array<std::uint8_t, 256> values = {};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i);
  return values;
}();

}  // namespace

void Image::Axis::crop(std::int64_t from, std::int64_t length) {
  const std::int64_t first = std::clamp(from, at, at + count);
  const std::int64_t last = std::clamp(from + length, first, at + count);
  begin += flipped ? at + count - last : first - at;
  count = last - first;
  at = count > 0 ? first - from : 0;
  size = length;
}

void Image::Axis::pad(std::int64_t before, std::int64_t after) {
  size += before + after;
  at += before;
}

void Image::Axis::flip() {
  at = size - at - count;
  flipped = !flipped;
}

Image::Image(const format::ImageFile& file) : file_(&file) {
  source_ = {.height = file.size().height, .width = file.size().width};
  begin();
}

Image::Image(const PixelView& pixels) : source_(pixels) { begin(); }

Image::Image(at::Tensor pixels) : kept_(std::move(pixels)), source_(view_of(kept_)) { begin(); }

void Image::begin() {
  rows_ = {.size = source_.height, .count = source_.height};
  columns_ = {.size = source_.width, .count = source_.width};
}

void Image::crop(const format::Rectangle& part) {
  rows_.crop(part.top, part.height);
  columns_.crop(part.left, part.width);
}

void Image::pad(const Border& border, const std::array<std::uint8_t, 3>& color) {
  if (!border.any()) return;
  const bool has_border = rows_.count < rows_.size || columns_.count < columns_.size;
  if (has_border && color != color_) replace(pixels());
  rows_.pad(border.top, border.bottom);
  columns_.pad(border.left, border.right);
  color_ = color;
}

void Image::flip_horizontal() { columns_.flip(); }

void Image::flip_vertical() { rows_.flip(); }

void Image::replace(at::Tensor pixels) { *this = Image(std::move(pixels)); }

// Decodes what is left of the file.
void Image::decode() {
  if (!file_) return;
  const format::Rectangle part = {
      .top = rows_.begin, .left = columns_.begin, .height = rows_.count, .width = columns_.count};
  kept_ = at::empty({part.height, part.width, 3}, at::kByte);
  if (kept_.numel() > 0) file_->decode(part, kept_.mutable_data_ptr<std::uint8_t>());
  source_ = view_of(kept_.permute({2, 0, 1}));
  rows_.begin = 0;
  columns_.begin = 0;
  file_ = nullptr;
}

// Is the image a part of the source, as it lies there?
bool Image::is_plain() const {
  return rows_.count == rows_.size && columns_.count == columns_.size && !rows_.flipped && !columns_.flipped;
}

at::Tensor Image::pixels() {
  decode();
  if (!is_plain()) {
    const at::Tensor made = at::empty({channels(), height(), width()}, at::kByte);
    const std::uint8_t* const values[] = {kIdentity.data(), kIdentity.data(), kIdentity.data()};
    copy(values, made.mutable_data_ptr<std::uint8_t>());
    replace(made);
  }
  const std::uint8_t* const first =
      source_.data + rows_.begin * source_.row_stride + columns_.begin * source_.column_stride;
  const auto keep = [memory = kept_](void*) { static_cast<void>(memory); };
  return at::from_blob(const_cast<std::uint8_t*>(first), {channels(), height(), width()},
                       {source_.channel_stride, source_.row_stride, source_.column_stride}, keep, at::kByte);
}

void Image::look_up(const PixelTable& table, float* to) {
  decode();
  const float* const values[] = {table[0].data(), table[1].data(), table[2].data()};
  copy(values, to);
}

// Writes for each pixel what its channel's 256 values have for it: [c, h, w].
template <class Number>
void Image::copy(const Number* const* values, Number* to) const {
  // A crop may lie in the border alone: then there is no pixel to point at.
  const bool is_empty = rows_.count == 0 || columns_.count == 0;
  const std::int64_t column_step = columns_.flipped ? -source_.column_stride : source_.column_stride;
  const std::int64_t first_column = columns_.begin + (columns_.flipped ? columns_.count - 1 : 0);
  for (std::int64_t c = 0; c < source_.channels; ++c) {
    const Number* const of = values[c];
    const Number border = of[color_[static_cast<std::size_t>(c)]];
    const std::int64_t place = c * source_.channel_stride + first_column * source_.column_stride;
    const std::uint8_t* const plane = is_empty ? nullptr : source_.data + place;
    for (std::int64_t y = 0; y < rows_.size; ++y, to += columns_.size) {
      const std::int64_t row = y - rows_.at;
      if (is_empty || row < 0 || row >= rows_.count) {
        std::fill_n(to, columns_.size, border);
        continue;
      }
      const std::int64_t source_row = rows_.begin + (rows_.flipped ? rows_.count - 1 - row : row);
      const std::uint8_t* from = plane + source_row * source_.row_stride;
      Number* next = std::fill_n(to, columns_.at, border);
      for (std::int64_t x = 0; x < columns_.count; ++x, from += column_step) *next++ = of[*from];
      std::fill(next, to + columns_.size, border);
    }
  }
}

}  // namespace ddp::datasets
