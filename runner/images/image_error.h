#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "format/image.h"

// Errors of images. All of them are ddp::Error (usage) and name the file.
namespace ddp::images {

// Data that cannot be decoded. `why` is the library's message.
Error damaged(const std::string& name, const std::string& why);

// Data that end before the image is complete.
Error truncated(const std::string& name);

// An image of an unsupported kind, such as "an animated WebP".
Error unsupported(const std::string& name, const std::string& kind, const std::string& remedy);

// Throws if an image of this size is refused without a look at its data: it is empty, or larger than Pillow allows.
void check_size(const std::string& name, const format::ImageSize& size);

}  // namespace ddp::images
