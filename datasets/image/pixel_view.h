#pragma once

#include <cstdint>

namespace ddp::datasets {

// A view of pixels in memory that it does not own: 8 bits each, 1 or 3 channels. Strides are in bytes.
struct PixelView {
  const std::uint8_t* data = nullptr;
  std::int64_t channels = 3;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channel_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  bool is_interleaved() const { return channels == 3 && channel_stride == 1 && column_stride == 3; }
};

}  // namespace ddp::datasets
