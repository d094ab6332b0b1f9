#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "format/image.h"

// The errors of images, all of them ddp::Error (usage) that names the file.
namespace ddp::images {

// Data that cannot be decoded. `why`: in a library's words.
Error damaged(const std::string& name, const std::string& why);

// Data that end before the image does.
Error truncated(const std::string& name);

// An image of a kind that is not read: "a CMYK image".
Error unsupported(const std::string& name, const std::string& kind, const std::string& remedy);

// Throws where an image of this size is refused whatever is in it: empty, or larger than Pillow takes.
void check_size(const std::string& name, const format::ImageSize& size);

}  // namespace ddp::images
