#pragma once

#include <cstdint>

#include "datasets/image/taps.h"

// The two passes of a resampling, row by row, with AVX2 if the CPU has it. A sum is rounded to the nearest pixel value,
// halves up.
namespace ddp::datasets {

// Rows of planes are written in steps of this many pixels: the memory of a row must be a multiple of it.
constexpr std::int64_t kRowStep = 32;
inline std::int64_t whole_steps(std::int64_t pixels) { return (pixels + kRowStep - 1) / kRowStep * kRowStep; }

// The number of readable bytes that must follow the last pixel of an RGB row that a place uses.
inline std::int64_t bytes_behind_row(const Taps& taps) { return 3 * taps.width + 4; }

// Two interleaved rows of RGB become rows of planes: pixel x of channel c of row r goes to to[r][c * plane + x]. The
// rows, which may be the same, begin at the pixel `taps.begin`.
void resample_columns(const std::uint8_t* const rows[2], const Taps& taps, std::uint8_t* const to[2],
                      std::int64_t plane);

// Resamples one row of one channel. Its pixels are `step` bytes apart.
void resample_column(const std::uint8_t* row, std::int64_t step, const Taps& taps, std::uint8_t* to);

// Writes the weighted sum of `count` rows, which are `stride` bytes apart: whole_steps(width) pixels.
void resample_rows(const std::uint8_t* rows, std::int64_t stride, const std::int16_t* weights, std::int32_t count,
                   int precision, std::int64_t width, std::uint8_t* to);

}  // namespace ddp::datasets
