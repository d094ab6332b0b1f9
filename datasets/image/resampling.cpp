#include "datasets/image/resampling.h"

#include <algorithm>

#include "datasets/image/resampled_rows.h"

namespace ddp::datasets {
namespace {

// The rows of a view as interleaved RGB, with `bytes_behind` readable bytes after their end. Copies rows that lack
// them.
class RgbRows {
 public:
  RgbRows(const PixelView& view, std::int64_t bytes_behind)
      : view_(view), bytes_behind_(bytes_behind), copies_(static_cast<std::size_t>(2 * size())) {}

  // `place` is 0 or 1: two rows may be in use at once.
  const std::uint8_t* of(std::int64_t row, std::int64_t place) {
    const std::uint8_t* const from = view_.data + row * view_.row_stride;
    if (view_.is_interleaved() && (view_.height - 1 - row) * view_.row_stride >= bytes_behind_) return from;
    std::uint8_t* const copy = copies_.data() + place * size();
    for (std::int64_t x = 0; x < view_.width; ++x) {
      for (std::int64_t c = 0; c < 3; ++c) copy[3 * x + c] = from[x * view_.column_stride + c * view_.channel_stride];
    }
    return copy;
  }

 private:
  std::int64_t size() const { return 3 * view_.width + bytes_behind_; }

  const PixelView& view_;
  const std::int64_t bytes_behind_;
  std::vector<std::uint8_t> copies_;
};

}  // namespace

Resampling::Resampling(const format::ImageSize& from, const format::ImageSize& to, const Places& rows,
                       const Places& columns)
    : rows_(bilinear_taps(from.height, to.height, rows)),
      columns_(bilinear_taps(from.width, to.width, columns)),
      stride_(whole_steps(columns.count)),
      row_(static_cast<std::size_t>(stride_)) {}

format::Rectangle Resampling::needed() const {
  return {.top = rows_.begin,
          .left = columns_.begin,
          .height = rows_.end - rows_.begin,
          .width = columns_.end - columns_.begin};
}

std::uint8_t* Resampling::kept_row(std::int64_t channel, std::int64_t row) {
  return kept_.get() + (channel * needed().height + row) * stride_;
}

void Resampling::take(const PixelView& rows) {
  if (!kept_) {
    const std::int64_t size = rows.channels * needed().height * stride_;
    kept_ = std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(size));
  }
  if (rows.channels == 3) {
    take_rgb(rows);
  } else {
    for (std::int64_t row = 0; row < rows.height; ++row) {
      resample_column(rows.data + row * rows.row_stride, rows.column_stride, columns_, kept_row(0, taken_ + row));
    }
  }
  taken_ += rows.height;
}

void Resampling::take_rgb(const PixelView& rows) {
  RgbRows from(rows, bytes_behind_row(columns_));
  for (std::int64_t row = 0; row < rows.height; row += 2) {
    const std::int64_t second = std::min(row + 1, rows.height - 1);
    const std::uint8_t* const pair[2] = {from.of(row, 0), from.of(second, 1)};
    std::uint8_t* const to[2] = {kept_row(0, taken_ + row), kept_row(0, taken_ + second)};
    resample_columns(pair, columns_, to, needed().height * stride_);
  }
}

const std::uint8_t* Resampling::row(std::int64_t channel, std::int64_t row) {
  const auto place = static_cast<std::size_t>(row);
  const std::uint8_t* const first = kept_row(channel, rows_.firsts[place] - rows_.begin);
  resample_rows(first, stride_, rows_.weights_of(row), rows_.counts[place], rows_.precision, columns_.places(),
                row_.data());
  return row_.data();
}

}  // namespace ddp::datasets
