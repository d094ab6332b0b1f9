#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <zlib.h>

#include "packing.h"

// Image files as common programs write them.
namespace ddp {

inline std::string big_endian(std::uint32_t number) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift & 0xff);
  return text;
}

// The format of MNIST: `type` 8 means 8-bit numbers.
inline std::string idx_file(const std::vector<std::uint32_t>& shape, const std::string& bytes, char type = 8) {
  std::string file{'\0', '\0', type, static_cast<char>(shape.size())};
  for (const std::uint32_t extent : shape) file += big_endian(extent);
  return file + bytes;
}

inline std::string gzip_file(const std::string& bytes) { return packed_bytes(bytes, 6, MAX_WBITS + 16); }

// A PNG with 8-bit interleaved pixels: `channels` 1 is gray, 3 is RGB.
inline std::string png_file(std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                            const std::string& pixels) {
  const auto chunk = [](const std::string& kind, const std::string& data) {
    const std::string checked = kind + data;
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
    return big_endian(static_cast<std::uint32_t>(data.size())) + checked + big_endian(static_cast<std::uint32_t>(sum));
  };
  std::string rows;
  for (std::uint32_t y = 0; y < height; ++y) {
    rows += '\0';  // no filter
    rows += pixels.substr(y * width * channels, width * channels);
  }
  uLongf size = compressBound(rows.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()), rows.size());
  packed.resize(size);
  const std::string head =
      big_endian(width) + big_endian(height) + std::string{8, channels == 1 ? '\0' : '\2', 0, 0, 0};
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", head) + chunk("IDAT", packed) + chunk("IEND", "");
}

// A tar archive of these members, given as name and content.
inline std::string tar_file(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string archive;
  for (const auto& [name, content] : members) {
    std::string head(512, '\0');
    head.replace(0, name.size(), name);
    char digits[16];
    std::snprintf(digits, sizeof digits, "%011zo", content.size());
    head.replace(100, 7, "0000644").replace(108, 7, "0000000").replace(116, 7, "0000000").replace(124, 11, digits);
    head.replace(136, 11, "00000000000").replace(148, 8, "        ");
    head[156] = '0';
    head.replace(257, 8, std::string("ustar\00000", 8));
    unsigned sum = 0;
    for (const char c : head) sum += static_cast<unsigned char>(c);
    std::snprintf(digits, sizeof digits, "%06o", sum);
    head.replace(148, 6, digits).replace(154, 2, std::string("\0 ", 2));
    archive += head + content + std::string((512 - content.size() % 512) % 512, '\0');
  }
  return archive + std::string(1024, '\0');
}

// Converts interleaved pixels to planes.
inline std::string as_planes(const std::string& pixels, std::size_t channels) {
  std::string planes;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = c; i < pixels.size(); i += channels) planes += pixels[i];
  }
  return planes;
}

// Bytes that hardly compress; each seed gives others.
inline std::string noise(std::size_t count, std::uint32_t seed) {
  std::string bytes;
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    bytes += static_cast<char>(state >> 24);
  }
  return bytes;
}

}  // namespace ddp
