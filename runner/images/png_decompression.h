#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "format/image.h"
#include "images/png_header.h"

namespace ddp::images {

// Decodes a part of a PNG file of up to 8 bits per channel with libpng, up to the last row of the part. `header` comes
// from read_png_header(bytes). Throws ddp::Error (usage) if libpng fails.
void decode_by_libpng(std::span<const std::byte> bytes, const std::string& name, const PngHeader& header,
                      const format::Rectangle& part, std::uint8_t* pixels);

}  // namespace ddp::images
