#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "format/image.h"

namespace ddp::images {

// Do the bytes begin as a WebP file does?
bool is_webp(std::span<const std::byte> bytes);

// Opens a still WebP file, lossy or lossless. Transparency is left out, as Pillow's convert("RGB") does. Throws what
// format::open_image throws; also where the file is shorter than its header says.
std::unique_ptr<format::ImageFile> open_webp(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ddp::images
