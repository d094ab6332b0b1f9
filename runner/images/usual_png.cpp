#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "images/png.h"

namespace ddp::images {
namespace {

constexpr int kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6;
constexpr std::size_t kRgbBytes = 3;
constexpr std::size_t kMostColors = 256;
// libpng rejects longer chunks (PNG_USER_CHUNK_MALLOC_MAX).
constexpr std::size_t kLongestChunk = 8'000'000;
// Deflate expands one byte to at most so many bytes.
constexpr std::size_t kMostExpansion = 1032;
constexpr std::size_t kLargestWindow = 32768;

using Palette = std::array<std::array<std::uint8_t, kRgbBytes>, kMostColors>;

int channels_of(int color) {
  switch (color) {
    case kGray:
    case kPalette:
      return 1;
    case kGrayAlpha:
      return 2;
    case kRgb:
      return 3;
    case kRgba:
      return 4;
    default:
      return 0;
  }
}

// Does the checksum match the name and the data?
bool is_intact(const PngChunk& chunk) {
  const std::byte* const end = chunk.data.data() + chunk.data.size();
  return libdeflate_crc32(0, chunk.type.data(), chunk.type.size() + chunk.data.size()) == big_endian({end, 4});
}

// Is this an ancillary chunk, which does not affect the pixels?
bool may_be_passed_over(const PngChunk& chunk) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return std::all_of(chunk.type.begin(), chunk.type.end(), is_letter) && chunk.type[0] >= 'a' &&
         chunk.data.size() <= kLongestChunk;
}

// The contents of the chunks up to the end of the pixels.
struct Content {
  Palette palette = {};  // indices beyond its end are black, as in libpng
  std::size_t colors = 0;
  std::span<const std::byte> packed;
  std::vector<std::byte> joined;  // the memory of `packed`, if it spans several chunks
};

bool take_palette(const PngChunk& chunk, Content& content) {
  const std::size_t colors = chunk.data.size() / kRgbBytes;
  if (content.colors > 0 || colors == 0 || colors > kMostColors || chunk.data.size() % kRgbBytes != 0) return false;
  for (std::size_t i = 0; i < chunk.data.size(); ++i) {
    content.palette[i / kRgbBytes][i % kRgbBytes] = std::to_integer<std::uint8_t>(chunk.data[i]);
  }
  content.colors = colors;
  return is_intact(chunk);
}

// Takes the chunks of pixels, which are consecutive.
bool take_packed(PngChunk chunk, std::span<const std::byte> left, Content& content) {
  content.packed = chunk.data;
  for (bool is_first = true; chunk.type == "IDAT"; is_first = false) {
    if (chunk.data.size() > kLongestChunk || !is_intact(chunk)) return false;
    if (!is_first) {
      if (content.joined.empty()) content.joined.assign(content.packed.begin(), content.packed.end());
      content.joined.insert(content.joined.end(), chunk.data.begin(), chunk.data.end());
      content.packed = content.joined;
    }
    const auto next = take_png_chunk(left);
    if (!next) return false;
    chunk = *next;
  }
  return true;
}

bool take_content(std::span<const std::byte> bytes, const PngHeader& header, Content& content) {
  std::span<const std::byte> left = bytes.subspan(kPngSignatureBytes);
  auto chunk = take_png_chunk(left);
  const bool has_known_methods = chunk && chunk->data[10] == std::byte{0} && chunk->data[11] == std::byte{0};
  if (!has_known_methods || !is_intact(*chunk)) return false;
  while ((chunk = take_png_chunk(left))) {
    if (chunk->type == "IDAT") {
      return (header.color != kPalette || content.colors > 0) && take_packed(*chunk, left, content);
    }
    if (chunk->type == "PLTE" && header.color == kPalette) {
      if (!take_palette(*chunk, content)) return false;
    } else if (!may_be_passed_over(*chunk)) {
      return false;
    }
  }
  return false;
}

// Decompresses a stream that must contain exactly the bytes of the pixels. zlib rejects distances beyond the window
// that the stream's first byte declares; libdeflate does not. The window must be large enough for every distance.
bool inflate_all(std::span<const std::byte> packed, std::uint8_t* to, std::size_t size) {
  const std::size_t window = std::size_t{256} << (std::to_integer<unsigned>(packed[0]) >> 4);
  if (window < std::min(size, kLargestWindow)) return false;
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> inflater(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  std::size_t read = 0, written = 0;
  return inflater &&
         libdeflate_zlib_decompress_ex(inflater.get(), packed.data(), packed.size(), to, size, &read, &written) ==
             LIBDEFLATE_SUCCESS &&
         read == packed.size() && written == size;
}

// Returns the byte (left, above, or corner, which is above to the left) that is nearest to left + above - corner.
constexpr auto kNearest = [](int left, int above, int corner) {
  const int to_left = std::abs(above - corner), to_above = std::abs(left - corner);
  const int to_corner = std::abs(above + left - 2 * corner);
  const int of_two = to_above <= to_corner ? above : corner;
  return to_left <= to_above && to_left <= to_corner ? left : of_two;
};
constexpr auto kAverage = [](int left, int above, int) { return (left + above) / 2; };

// Adds to each byte of a row what `predict` makes of the bytes to the left, above, and above to the left.
template <int channels, class Predict>
void add_predicted(std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes, const Predict& predict) {
  int left[channels] = {}, corner[channels] = {};
  for (std::int64_t i = 0; i < bytes; i += channels) {
    for (int c = 0; c < channels; ++c) {
      const int up = above[i + c];
      left[c] = (row[i + c] + predict(left[c], up, corner[c])) & 0xff;
      corner[c] = up;
      row[i + c] = static_cast<std::uint8_t>(left[c]);
    }
  }
}

// Reverses the filters of PNG: "PNG (Portable Network Graphics) Specification", chapter 9. Each row is the number of
// its filter, then `bytes` bytes, which become the bytes of its pixels. Pixels outside of the image count as 0. Returns
// false for an unknown filter.
template <int channels>
bool undo_filters(std::uint8_t* rows, std::int64_t count, std::int64_t bytes) {
  const std::vector<std::uint8_t> zeros(static_cast<std::size_t>(bytes));
  const std::uint8_t* above = zeros.data();
  for (std::int64_t y = 0; y < count; ++y, rows += 1 + bytes) {
    std::uint8_t* const row = rows + 1;
    switch (rows[0]) {
      case 0:
        break;
      case 1:
        for (std::int64_t i = channels; i < bytes; ++i) row[i] = static_cast<std::uint8_t>(row[i] + row[i - channels]);
        break;
      case 2:
        for (std::int64_t i = 0; i < bytes; ++i) row[i] = static_cast<std::uint8_t>(row[i] + above[i]);
        break;
      case 3:
        add_predicted<channels>(row, above, bytes, kAverage);
        break;
      case 4:
        add_predicted<channels>(row, above, bytes, kNearest);
        break;
      default:
        return false;
    }
    above = row;
  }
  return true;
}

void to_rgb(const std::uint8_t* from, std::int64_t width, int color, const Palette& palette, std::uint8_t* to) {
  if (color == kRgb) {
    std::copy_n(from, 3 * width, to);
    return;
  }
  for (std::int64_t x = 0; x < width; ++x, from += channels_of(color), to += kRgbBytes) {
    if (color == kPalette) {
      std::copy_n(palette[*from].data(), kRgbBytes, to);
    } else if (color == kRgba) {
      std::copy_n(from, kRgbBytes, to);
    } else {
      std::fill_n(to, kRgbBytes, *from);
    }
  }
}

}  // namespace

bool decode_usual_png(std::span<const std::byte> bytes, const PngHeader& header, const format::Rectangle& part,
                      std::uint8_t* pixels) {
  const int channels = channels_of(header.color);
  if (header.bits != 8 || header.interlaced || channels == 0) return false;
  // libpng stops reading after the last row of a part, which is faster for a small part at the top.
  if (2 * (part.top + part.height) < header.size.height) return false;
  Content content;
  if (!take_content(bytes, header, content)) return false;
  const std::int64_t row_bytes = header.size.width * channels;
  const auto size = static_cast<std::size_t>(header.size.height * (1 + row_bytes));
  if (content.packed.empty() || size / kMostExpansion > content.packed.size()) return false;
  const auto rows = std::make_unique_for_overwrite<std::uint8_t[]>(size);
  if (!inflate_all(content.packed, rows.get(), size)) return false;
  const auto undo = channels == 1   ? undo_filters<1>
                    : channels == 2 ? undo_filters<2>
                    : channels == 3 ? undo_filters<3>
                                    : undo_filters<4>;
  if (!undo(rows.get(), part.top + part.height, row_bytes)) return false;
  for (std::int64_t y = part.top; y < part.top + part.height; ++y, pixels += 3 * part.width) {
    to_rgb(rows.get() + y * (1 + row_bytes) + 1 + part.left * channels, part.width, header.color, content.palette,
           pixels);
  }
  return true;
}

}  // namespace ddp::images
