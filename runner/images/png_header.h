#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "format/image.h"

namespace ddp::images {

// The fields of a PNG file before its pixels.
struct PngHeader {
  format::ImageSize size;
  int bits = 8;   // of a channel, or of a palette index
  int color = 0;  // 0 gray, 2 RGB, 3 palette, 4 gray with alpha, 6 RGBA
  bool interlaced = false;
};

// Reads the header and checks that all chunks up to the last one are present. (libpng checks their checksums and the
// values of the header.) Throws ddp::Error (usage) if a chunk is missing.
PngHeader read_png_header(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ddp::images
