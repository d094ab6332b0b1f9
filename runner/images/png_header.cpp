#include "images/png_header.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "images/image_error.h"

namespace ddp::images {
namespace {

constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kHeaderBytes = 13;       // the data of IHDR
constexpr std::size_t kBytesAroundChunk = 12;  // its length, name and checksum

std::uint32_t big_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes.first(4)) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

// The first chunk of what is left, which it is taken from.
struct PngChunk {
  std::string_view type;
  std::span<const std::byte> data;
};

PngChunk take_chunk(std::span<const std::byte>& left, const std::string& name) {
  if (left.size() < kBytesAroundChunk) throw truncated(name);
  const std::size_t size = big_endian(left);
  if (left.size() - kBytesAroundChunk < size) throw truncated(name);
  const PngChunk chunk{.type = {reinterpret_cast<const char*>(left.data()) + 4, 4}, .data = left.subspan(8, size)};
  left = left.subspan(kBytesAroundChunk + size);
  return chunk;
}

}  // namespace

PngHeader read_png_header(std::span<const std::byte> bytes, const std::string& name) {
  std::span<const std::byte> left = bytes.subspan(kSignatureBytes);
  const PngChunk first = take_chunk(left, name);
  if (first.type != "IHDR" || first.data.size() != kHeaderBytes) throw damaged(name, "its first chunk is no header");
  const PngHeader header{.size = {.height = big_endian(first.data.subspan(4)), .width = big_endian(first.data)},
                         .bits = std::to_integer<int>(first.data[8]),
                         .interlaced = first.data[12] != std::byte{0}};
  check_size(name, header.size);
  while (take_chunk(left, name).type != "IEND") {
  }
  return header;
}

}  // namespace ddp::images
