#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/image.h"
#include "images/png_header.h"

namespace ddp::images {

// Decodes a part of a common PNG file: 8 bits per channel or palette index, not interlaced, complete, and with an order
// of chunks and a size that every reader accepts. libdeflate decompresses all of it at once, about twice as fast as
// zlib. Returns false for an unusual or damaged file, which libpng then reads or refuses. The pixels equal libpng's.
// Memory is at most 5 bytes per pixel of the header's size, and 1032 times the file's size. `header` comes from
// read_png_header(bytes).
bool decode_usual_png(std::span<const std::byte> bytes, const PngHeader& header, const format::Rectangle& part,
                      std::uint8_t* pixels);

}  // namespace ddp::images
