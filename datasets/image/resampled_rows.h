#pragma once

#include <cstdint>

#include "datasets/image/taps.h"

// The two passes of a resampling, row by row, by the widest instructions that the CPU has. A sum is rounded to the
// nearest pixel, halves up.
namespace ddp::datasets {

// Rows of planes are written in steps of so many pixels: their memory is a multiple of it.
constexpr std::int64_t kRowStep = 32;
inline std::int64_t whole_steps(std::int64_t pixels) { return (pixels + kRowStep - 1) / kRowStep * kRowStep; }

// So many bytes are read behind the last pixel of a row of RGB that a place takes.
inline std::int64_t bytes_behind_row(const Taps& taps) { return 3 * taps.width + 4; }

// Two interleaved rows of RGB become rows of planes: pixel x of channel c of row r goes to to[r][c * plane + x]. The
// rows, which may be the same, begin at the pixel `taps.begin`.
void resample_columns(const std::uint8_t* const rows[2], const Taps& taps, std::uint8_t* const to[2],
                      std::int64_t plane);

// The same for one row of one channel, whose pixels are `step` bytes apart.
void resample_column(const std::uint8_t* row, std::int64_t step, const Taps& taps, std::uint8_t* to);

// Sums `count` rows, `stride` bytes apart: whole_steps(width) pixels.
void resample_rows(const std::uint8_t* rows, std::int64_t stride, const std::int16_t* weights, std::int32_t count,
                   int precision, std::int64_t width, std::uint8_t* to);

}  // namespace ddp::datasets
