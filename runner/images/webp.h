#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "format/image.h"

namespace ddp::images {

// Do the bytes begin like a WebP file?
bool is_webp(std::span<const std::byte> bytes);

// Opens a still WebP file, lossy or lossless. Ignores transparency, as Pillow's convert("RGB") does. Throws the errors
// of format::open_image. Also throws if the file is shorter than its header says.
std::unique_ptr<format::ImageFile> open_webp(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ddp::images
