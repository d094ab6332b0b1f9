#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "format/image.h"

namespace ddp::images {

// Do the bytes begin as a JPEG file does?
bool is_jpeg(std::span<const std::byte> bytes);

// Opens a JPEG file: gray, YCbCr, or RGB as Adobe's marker says; baseline or progressive. Decoded by libjpeg-turbo with
// its defaults, accurate DCT and smooth upsampling, as Pillow does. Throws what format::open_image throws; also where
// no end-of-image marker follows the header: so a truncated file is found whatever part is decoded later.
std::unique_ptr<format::ImageFile> open_jpeg(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ddp::images
