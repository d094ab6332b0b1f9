#pragma once

#include <cstdint>

namespace ddp::images {

// Takes the filters of PNG back: "PNG (Portable Network Graphics) Specification", chapter 9. `rows`: each is the number
// of its filter, then `row_bytes` bytes, which become those of the pixels, `channels` (1 to 4) each. Returns false
// where there is no filter of a number.
bool undo_png_filters(std::uint8_t* rows, std::int64_t count, std::int64_t row_bytes, int channels);

}  // namespace ddp::images
