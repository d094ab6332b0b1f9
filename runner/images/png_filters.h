#pragma once

#include <cstdint>

namespace ddp::images {

// Reverses the filters of PNG: "PNG (Portable Network Graphics) Specification", chapter 9. Each row is the number of
// its filter, then `row_bytes` bytes, which become the bytes of its pixels, `channels` (1 to 4) per pixel. Returns
// false for an unknown filter.
bool undo_png_filters(std::uint8_t* rows, std::int64_t count, std::int64_t row_bytes, int channels);

}  // namespace ddp::images
