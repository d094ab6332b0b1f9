#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "format/image.h"

namespace ddp::images {

// Do the bytes begin as a PNG file does?
bool is_png(std::span<const std::byte> bytes);

// Opens a PNG file of up to 8 bits a channel: gray, gray with alpha, RGB, RGBA, or a palette. Transparency and gamma
// are left out, as Pillow's convert("RGB") does; of an animated PNG the pixels are its still image's. Throws what
// format::open_image throws; also where a chunk reaches beyond the end: so a truncated file is found whatever part is
// decoded later.
std::unique_ptr<format::ImageFile> open_png(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ddp::images
