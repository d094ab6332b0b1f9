#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "format/image.h"
#include "format/tar.h"

// The entry points of libddp_images.so (runner/images) for open_image and list_tar. The caller owns the image that
// ddp_open_image returns; ddp_list_tar appends to `members`. Each throws the same errors as its namesake.
extern "C" ddp::format::ImageFile* ddp_open_image(const std::span<const std::byte>* bytes, const std::string* name);
extern "C" void ddp_list_tar(const std::filesystem::path* file, std::vector<ddp::format::TarMember>* members);
