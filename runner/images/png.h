#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "format/image.h"

namespace ddp::images {

// Do the bytes begin like a PNG file?
bool is_png(std::span<const std::byte> bytes);

// Opens a PNG file of up to 8 bits per channel: gray, gray with alpha, RGB, RGBA, or a palette. Ignores transparency
// and gamma, as Pillow's convert("RGB") does; for an animated PNG, decodes its still image. Throws the errors of
// format::open_image. Also throws if a chunk reaches beyond the end, to find a truncated file whatever part is decoded
// later.
std::unique_ptr<format::ImageFile> open_png(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ddp::images
