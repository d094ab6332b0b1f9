#include "images/png_stream.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <libdeflate.h>

#include "images/png_chunks.h"
#include "images/png_filters.h"

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

bool is_usual(const PngHeader& header, const PngChunk& chunk) {
  const bool is_of_one_method = chunk.data[10] == std::byte{0} && chunk.data[11] == std::byte{0};
  return header.bits == 8 && !header.interlaced && channels_of(header.color) > 0 && is_of_one_method &&
         chunk.is_intact();
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
  return chunk.is_intact();
}

// Takes the chunks of pixels, which are consecutive.
bool take_packed(PngChunk chunk, std::span<const std::byte> left, Content& content) {
  content.packed = chunk.data;
  bool is_first = true;
  while (chunk.type == "IDAT") {
    if (chunk.data.size() > kLongestChunk || !chunk.is_intact()) return false;
    if (!is_first) {
      if (content.joined.empty()) content.joined.assign(content.packed.begin(), content.packed.end());
      content.joined.insert(content.joined.end(), chunk.data.begin(), chunk.data.end());
      content.packed = content.joined;
    }
    is_first = false;
    const std::optional<PngChunk> next = take_png_chunk(left);
    if (!next) return false;
    chunk = *next;
  }
  return true;
}

bool take_content(std::span<const std::byte> bytes, const PngHeader& header, Content& content) {
  std::span<const std::byte> left = bytes.subspan(kPngSignatureBytes);
  std::optional<PngChunk> chunk = take_png_chunk(left);
  if (!chunk || !is_usual(header, *chunk)) return false;
  while ((chunk = take_png_chunk(left))) {
    if (chunk->type == "IDAT")
      return (header.color != kPalette || content.colors > 0) && take_packed(*chunk, left, content);
    if (chunk->type == "PLTE" && header.color == kPalette) {
      if (!take_palette(*chunk, content)) return false;
    } else if (!may_be_passed_over(*chunk)) {
      return false;
    }
  }
  return false;
}

// zlib rejects distances beyond the window that the stream's first byte declares; libdeflate does not. The window must
// therefore be large enough for every distance.
bool has_window_for(std::span<const std::byte> packed, std::size_t size) {
  const std::size_t window = std::size_t{256} << (std::to_integer<unsigned>(packed[0]) >> 4);
  return window >= std::min(size, kLargestWindow);
}

// Decompresses a stream that must contain exactly the bytes of the pixels.
bool inflate_all(std::span<const std::byte> packed, std::uint8_t* to, std::size_t size) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> inflater(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  std::size_t read = 0, written = 0;
  return inflater &&
         libdeflate_zlib_decompress_ex(inflater.get(), packed.data(), packed.size(), to, size, &read, &written) ==
             LIBDEFLATE_SUCCESS &&
         read == packed.size() && written == size;
}

void to_rgb(const std::uint8_t* from, std::int64_t width, int color, const Palette& palette, std::uint8_t* to) {
  const int step = channels_of(color);
  if (color == kRgb) {
    std::copy_n(from, 3 * width, to);
    return;
  }
  for (std::int64_t x = 0; x < width; ++x, from += step, to += kRgbBytes) {
    if (color == kPalette) {
      std::copy_n(palette[*from].data(), kRgbBytes, to);
    } else if (color == kRgba) {
      std::copy_n(from, kRgbBytes, to);
    } else {
      std::fill_n(to, kRgbBytes, *from);
    }
  }
}

// False for a small part at the top: libpng stops reading after its last row.
bool is_worth_all(const format::Rectangle& part, const PngHeader& header) {
  return 2 * (part.top + part.height) >= header.size.height;
}

}  // namespace

bool decode_usual_png(std::span<const std::byte> bytes, const PngHeader& header, const format::Rectangle& part,
                      std::uint8_t* pixels) {
  Content content;
  if (!is_worth_all(part, header) || !take_content(bytes, header, content)) return false;
  const int channels = channels_of(header.color);
  const std::int64_t row_bytes = header.size.width * channels;
  const auto size = static_cast<std::size_t>(header.size.height * (1 + row_bytes));
  if (content.packed.empty() || size / kMostExpansion > content.packed.size()) return false;
  if (!has_window_for(content.packed, size)) return false;
  const auto rows = std::make_unique_for_overwrite<std::uint8_t[]>(size);
  if (!inflate_all(content.packed, rows.get(), size)) return false;
  if (!undo_png_filters(rows.get(), part.top + part.height, row_bytes, channels)) return false;
  for (std::int64_t y = 0; y < part.height; ++y) {
    const std::uint8_t* const row = rows.get() + (part.top + y) * (1 + row_bytes) + 1;
    to_rgb(row + part.left * channels, part.width, header.color, content.palette, pixels + y * part.width * 3);
  }
  return true;
}

}  // namespace ddp::images
