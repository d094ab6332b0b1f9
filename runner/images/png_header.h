#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "format/image.h"

namespace ddp::images {

// The fields of a PNG file that come before its pixels.
struct PngHeader {
  format::ImageSize size;
  int bits = 8;   // of a channel, or of a place in the palette
  int color = 0;  // 0 gray, 2 RGB, 3 palette, 4 gray with alpha, 6 RGBA
  bool interlaced = false;
};

// Reads the header, and looks whether all chunks up to the last one are there. (Their checksums and the values of the
// header are libpng's to check.) Throws ddp::Error (usage) where they are not.
PngHeader read_png_header(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ddp::images
