#pragma once

#include <cstddef>
#include <cstdint>

namespace ddp::fuzz {

// Decodes the bytes as an image, whole and in part: the part has the pixels that it has in the whole. The sizes of what
// is decoded are such that even many passes over an image take no more than a few seconds.
void decode_image(const std::uint8_t* data, std::size_t size);

}  // namespace ddp::fuzz
