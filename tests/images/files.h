#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "format/image.h"

// Image files made for tests, in memory.
namespace ddp {

// RGB, interleaved.
struct Picture {
  format::ImageSize size;
  std::vector<std::uint8_t> pixels;
};

// Smooth waves and hard edges in all channels: a decoder that used a wrong neighbor would give other pixels.
Picture make_picture(std::int64_t height, std::int64_t width);

struct JpegOptions {
  std::array<std::array<int, 2>, 3> sampling = {{{2, 2}, {1, 1}, {1, 1}}};  // horizontal and vertical, by component
  int quality = 85;
  bool progressive = false;
  bool gray = false;
  bool cmyk = false;  // four channels: RGB and a constant one
  int restart_interval = 0;
};
std::string jpeg_of(const Picture& picture, const JpegOptions& options = {});

// `bits`: the bits per channel, 8 or 16.
std::string png_of(const Picture& picture, bool interlaced = false, int bits = 8);

std::string webp_of(const Picture& picture, bool lossless = false);

// The pixels of a part, cut out of a decoded image.
std::vector<std::uint8_t> cut_out(const Picture& picture, const format::Rectangle& part);

// Opens and decodes a file whole.
Picture decode(const std::string& file);

// Opens a file and decodes a part of it.
std::vector<std::uint8_t> decode_part(const std::string& file, const format::Rectangle& part);

// The text of the error that refuses a file, when it is opened or decoded; "" if it is accepted.
std::string refusal_of(const std::string& file);
std::string refusal_to_open(const std::string& file);

}  // namespace ddp
