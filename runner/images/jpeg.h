#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "format/image.h"

namespace ddp::images {

// Do the bytes begin like a JPEG file?
bool is_jpeg(std::span<const std::byte> bytes);

// Opens a JPEG file: gray, YCbCr, RGB by Adobe's marker, CMYK or YCCK; baseline or progressive. libjpeg-turbo decodes
// it with its defaults, accurate DCT and smooth upsampling, as in Pillow. Throws the errors of format::open_image. Also
// throws if no end-of-image marker follows the header, to find a truncated file whatever part is decoded later.
std::unique_ptr<format::ImageFile> open_jpeg(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ddp::images
