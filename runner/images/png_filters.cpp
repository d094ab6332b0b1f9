#include "images/png_filters.h"

#include <cstdlib>

namespace ddp::images {
namespace {

enum Filter : std::uint8_t { kNone, kSub, kUp, kAverage, kPaeth };

// Returns the byte (left, above, or corner, which is above to the left) that is nearest to left + above - corner.
inline int nearest_of(int left, int above, int corner) {
  const int to_left = std::abs(above - corner), to_above = std::abs(left - corner);
  const int to_corner = std::abs(above + left - 2 * corner);
  const int of_two = to_above <= to_corner ? above : corner;
  return to_left <= to_above && to_left <= to_corner ? left : of_two;
}

// The pixel before the first one and the pixels above the first row count as 0.
template <int channels>
void undo_sub(std::uint8_t* row, std::int64_t bytes) {
  for (std::int64_t i = channels; i < bytes; ++i) row[i] = static_cast<std::uint8_t>(row[i] + row[i - channels]);
}

void undo_up(std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; ++i) row[i] = static_cast<std::uint8_t>(row[i] + above[i]);
}

template <int channels>
void undo_average(std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes) {
  int left[channels] = {};
  for (std::int64_t i = 0; i < bytes; i += channels) {
    for (int c = 0; c < channels; ++c) {
      left[c] = (row[i + c] + (left[c] + above[i + c]) / 2) & 0xff;
      row[i + c] = static_cast<std::uint8_t>(left[c]);
    }
  }
}

template <int channels>
void undo_paeth(std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes) {
  int left[channels] = {}, corner[channels] = {};
  for (std::int64_t i = 0; i < bytes; i += channels) {
    for (int c = 0; c < channels; ++c) {
      const int up = above[i + c];
      left[c] = (row[i + c] + nearest_of(left[c], up, corner[c])) & 0xff;
      corner[c] = up;
      row[i + c] = static_cast<std::uint8_t>(left[c]);
    }
  }
}

template <int channels>
bool undo(std::uint8_t* rows, std::int64_t count, std::int64_t row_bytes) {
  const std::uint8_t* above = nullptr;
  for (std::int64_t y = 0; y < count; ++y, rows += 1 + row_bytes) {
    std::uint8_t* const row = rows + 1;
    Filter filter = static_cast<Filter>(rows[0]);
    if (above == nullptr && filter == kUp) filter = kNone;
    if (above == nullptr && filter == kPaeth) filter = kSub;
    switch (filter) {
      case kNone:
        break;
      case kSub:
        undo_sub<channels>(row, row_bytes);
        break;
      case kUp:
        undo_up(row, above, row_bytes);
        break;
      case kAverage:
        if (above == nullptr) {
          for (std::int64_t i = channels; i < row_bytes; ++i) {
            row[i] = static_cast<std::uint8_t>(row[i] + row[i - channels] / 2);
          }
        } else {
          undo_average<channels>(row, above, row_bytes);
        }
        break;
      case kPaeth:
        undo_paeth<channels>(row, above, row_bytes);
        break;
      default:
        return false;
    }
    above = row;
  }
  return true;
}

}  // namespace

bool undo_png_filters(std::uint8_t* rows, std::int64_t count, std::int64_t row_bytes, int channels) {
  switch (channels) {
    case 1:
      return undo<1>(rows, count, row_bytes);
    case 2:
      return undo<2>(rows, count, row_bytes);
    case 3:
      return undo<3>(rows, count, row_bytes);
    default:
      return undo<4>(rows, count, row_bytes);
  }
}

}  // namespace ddp::images
