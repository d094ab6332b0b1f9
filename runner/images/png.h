#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "format/image.h"

// The two readers of PNG files. Both give the same pixels.
namespace ddp::images {

inline constexpr std::size_t kPngSignatureBytes = 8;

struct PngHeader {
  format::ImageSize size;
  int bits = 8;   // of a channel, or of a palette index
  int color = 0;  // 0 gray, 2 RGB, 3 palette, 4 gray with alpha, 6 RGBA
  bool interlaced = false;
};

// Reads the header and checks that all chunks up to the last one are present. (libpng checks their checksums and the
// values of the header.) Throws ddp::Error (usage) if a chunk is missing.
PngHeader read_png_header(std::span<const std::byte> bytes, const std::string& name);

struct PngChunk {
  std::string_view type;
  std::span<const std::byte> data;  // four bytes with a checksum follow
};

std::uint32_t big_endian(std::span<const std::byte> bytes);

// Removes the first chunk from `left` and returns it. Returns nothing if the chunk reaches beyond the end.
std::optional<PngChunk> take_png_chunk(std::span<const std::byte>& left);

// Decodes a part of a PNG file of up to 8 bits per channel with libpng, up to the last row of the part. `header` comes
// from read_png_header(bytes). Throws ddp::Error (usage) if libpng fails.
void decode_by_libpng(std::span<const std::byte> bytes, const std::string& name, const PngHeader& header,
                      const format::Rectangle& part, std::uint8_t* pixels);

// Decodes a part of a common PNG file: 8 bits per channel or palette index, not interlaced, complete, and with an order
// of chunks and a size that every reader accepts. libdeflate decompresses all of it at once, about twice as fast as
// zlib. Returns false for an unusual or damaged file, which libpng then reads or refuses. Memory is at most 5 bytes per
// pixel of the header's size, and 1032 times the file's size.
bool decode_usual_png(std::span<const std::byte> bytes, const PngHeader& header, const format::Rectangle& part,
                      std::uint8_t* pixels);

}  // namespace ddp::images
