#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/image.h"
#include "images/png_header.h"

namespace ddp::images {

// Decodes a part of a PNG file of the usual kind: 8 bits a channel or a place in the palette, not interlaced, of an
// order of chunks and a size that no reader doubts, and whole: so it takes libdeflate, which inflates at once and about
// twice as fast as zlib. Returns false otherwise, whatever is unusual or damaged: libpng is asked then, and reads or
// refuses the file. What is decoded here libpng decodes to the same pixels. Memory is at most 5 bytes a pixel that the
// header claims and 1032 times the file's size. `bytes`: what read_png_header took `header` from.
bool decode_usual_png(std::span<const std::byte> bytes, const PngHeader& header, const format::Rectangle& part,
                      std::uint8_t* pixels);

}  // namespace ddp::images
