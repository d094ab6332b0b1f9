#pragma once

#include <cstddef>
#include <cstdint>

namespace ddp::fuzz {

// Decodes the bytes as an image, whole and in part: the part must have the same pixels as in the whole image. The sizes
// are limited: many passes over an image take at most a few seconds.
void decode_image(const std::uint8_t* data, std::size_t size);

}  // namespace ddp::fuzz
