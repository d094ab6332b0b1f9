#include "datasets/image/image.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace ddp::datasets {
namespace {

// The factor of ToDtype(float32, scale=True), as float32.
constexpr float kPixelUnit = static_cast<float>(1.0 / 255);

template <int step>
[[gnu::always_inline]] inline void normalize(const std::uint8_t* from, std::int64_t count, float mean, float std,
                                             float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = (static_cast<float>(from[i * step]) * kPixelUnit - mean) / std;
}

template <int step>
void normalize_plain(const std::uint8_t* from, std::int64_t count, float mean, float std, float* to) {
  normalize<step>(from, count, mean, std, to);
}

#if defined(__x86_64__)
// Without "fma": contracted operations would change the bits.
template <int step>
[[gnu::target("avx2")]] void normalize_avx2(const std::uint8_t* from, std::int64_t count, float mean, float std,
                                            float* to) {
  normalize<step>(from, count, mean, std, to);
}
const bool normalizes_by_avx2 = __builtin_cpu_supports("avx2");
#else
template <int step>
constexpr auto normalize_avx2 = normalize_plain<step>;
constexpr bool normalizes_by_avx2 = false;
#endif

template <int step>
void normalize_row(const std::uint8_t* from, std::int64_t count, float mean, float std, float* to) {
  (normalizes_by_avx2 ? normalize_avx2<step> : normalize_plain<step>)(from, count, mean, std, to);
}

PixelView view_of(const at::Tensor& pixels) {
  return {.data = pixels.const_data_ptr<std::uint8_t>(),
          .channels = pixels.size(0),
          .height = pixels.size(1),
          .width = pixels.size(2),
          .channel_stride = pixels.stride(0),
          .row_stride = pixels.stride(1),
          .column_stride = pixels.stride(2)};
}

// Copies pixels without a change.
struct Unchanged {
  std::uint8_t of(std::int64_t, std::uint8_t pixel) const { return pixel; }
  void write(std::int64_t, const std::uint8_t* from, std::int64_t step, std::int64_t count, std::uint8_t* to) const {
    for (std::int64_t i = 0; i < count; ++i, from += step) to[i] = *from;
  }
};

}  // namespace

PixelScale::PixelScale(const PixelTable& table, std::int64_t channels, const std::optional<Normalization>& formula)
    : table_(table) {
  if (!formula) return;
  std::array<std::uint8_t, 256> pixels;
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    std::array<float, 256> numbers;
    normalize_row<1>(pixels.data(), std::ssize(pixels), formula->mean[c], formula->std[c], numbers.data());
    if (std::memcmp(numbers.data(), table[c].data(), sizeof numbers) != 0) return;
  }
  formula_ = formula;
}

void PixelScale::write(std::int64_t channel, const std::uint8_t* from, std::int64_t step, std::int64_t count,
                       float* to) const {
  const auto c = static_cast<std::size_t>(channel);
  if (formula_ && step == 1) return normalize_row<1>(from, count, formula_->mean[c], formula_->std[c], to);
  if (formula_ && step == -1) return normalize_row<-1>(from, count, formula_->mean[c], formula_->std[c], to);
  const std::array<float, 256>& numbers = table_[c];
  for (std::int64_t i = 0; i < count; ++i, from += step) to[i] = numbers[*from];
}

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

void Image::resample(const format::ImageSize& size) {
  if (resampled_ || !is_plain()) replace(pixels());
  resampled_ = {.size = size, .rows = rows_, .columns = columns_};
  rows_ = {.size = size.height, .count = size.height};
  columns_ = {.size = size.width, .count = size.width};
}

// Is the image a rectangle of the source, without border and flips?
bool Image::is_plain() const {
  return rows_.count == rows_.size && columns_.count == columns_.size && !rows_.flipped && !columns_.flipped;
}

at::Tensor Image::pixels() {
  if (resampled_ || !is_plain()) {
    const at::Tensor made = at::empty({channels(), height(), width()}, at::kByte);
    copy(Unchanged(), made.mutable_data_ptr<std::uint8_t>());
    replace(made);
  }
  decode_part();
  const std::uint8_t* const first =
      source_.data + rows_.begin * source_.row_stride + columns_.begin * source_.column_stride;
  const auto keep = [memory = kept_](void*) { static_cast<void>(memory); };
  return at::from_blob(const_cast<std::uint8_t*>(first), {channels(), height(), width()},
                       {source_.channel_stride, source_.row_stride, source_.column_stride}, keep, at::kByte);
}

void Image::write(const PixelScale& scale, float* to) { copy(scale, to); }

// Decodes the remaining part of the file, which becomes the source.
void Image::decode_part() {
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

// Writes the scaled pixels: [c, h, w].
template <class Scale, class Number>
void Image::copy(const Scale& scale, Number* to) {
  if (resampled_ && !is_empty()) {
    Resampling resampling = resample_part();
    copy_rows(
        scale, [&](std::int64_t c, std::int64_t row) { return resampling.row(c, row); }, 1, to);
    return;
  }
  decode_part();
  const std::int64_t first_column = columns_.begin + (columns_.flipped ? columns_.count - 1 : 0);
  const auto pixels_of = [&](std::int64_t c, std::int64_t row) {
    const std::int64_t source_row = rows_.begin + (rows_.flipped ? rows_.count - 1 - row : row);
    return source_.data + c * source_.channel_stride + source_row * source_.row_stride +
           first_column * source_.column_stride;
  };
  copy_rows(scale, pixels_of, columns_.flipped ? -source_.column_stride : source_.column_stride, to);
}

// Resamples the remaining part of the image, except for the last pass.
Resampling Image::resample_part() const {
  const auto places = [](const Axis& axis) {
    return Places{.begin = axis.begin, .count = axis.count, .flipped = axis.flipped};
  };
  const Axis& rows = resampled_->rows;
  const Axis& columns = resampled_->columns;
  Resampling resampling({.height = rows.count, .width = columns.count}, resampled_->size, places(rows_),
                        places(columns_));
  format::Rectangle part = resampling.needed();
  part.top += rows.begin;
  part.left += columns.begin;
  if (file_) {
    file_->decode_rows(part, [&](const std::uint8_t* pixels, std::int64_t height, std::int64_t stride) {
      resampling.take({.data = pixels,
                       .channels = 3,
                       .height = height,
                       .width = part.width,
                       .channel_stride = 1,
                       .row_stride = stride,
                       .column_stride = 3});
    });
    return resampling;
  }
  PixelView view = source_;
  view.data += part.top * view.row_stride + part.left * view.column_stride;
  view.height = part.height;
  view.width = part.width;
  resampling.take(view);
  return resampling;
}

// Writes the rows. pixels_of(channel, row) points at the first pixel of a row in the source; its pixels are `step`
// bytes apart.
template <class Scale, class Number, class Row>
void Image::copy_rows(const Scale& scale, const Row& pixels_of, std::int64_t step, Number* to) const {
  for (std::int64_t c = 0; c < source_.channels; ++c) {
    const Number border = scale.of(c, color_[static_cast<std::size_t>(c)]);
    for (std::int64_t y = 0; y < rows_.size; ++y, to += columns_.size) {
      const std::int64_t row = y - rows_.at;
      // A row or a whole crop may lie in the border: then the source has no pixel for it.
      if (is_empty() || row < 0 || row >= rows_.count) {
        std::fill_n(to, columns_.size, border);
        continue;
      }
      Number* const pixels = std::fill_n(to, columns_.at, border);
      scale.write(c, pixels_of(c, row), step, columns_.count, pixels);
      std::fill(pixels + columns_.count, to + columns_.size, border);
    }
  }
}

}  // namespace ddp::datasets
