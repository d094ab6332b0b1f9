#include "images/png_chunks.h"

#include <libdeflate.h>

namespace ddp::images {
namespace {

constexpr std::size_t kBytesBeforeData = 8;    // length and name
constexpr std::size_t kBytesAroundChunk = 12;  // and the checksum

}  // namespace

bool PngChunk::is_intact() const {
  return libdeflate_crc32(0, type.data(), type.size() + data.size()) == big_endian({data.data() + data.size(), 4});
}

std::uint32_t big_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes.first(4)) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

std::optional<PngChunk> take_png_chunk(std::span<const std::byte>& left) {
  if (left.size() < kBytesAroundChunk) return std::nullopt;
  const std::size_t size = big_endian(left);
  if (left.size() - kBytesAroundChunk < size) return std::nullopt;
  const PngChunk chunk{.type = {reinterpret_cast<const char*>(left.data()) + 4, 4},
                       .data = left.subspan(kBytesBeforeData, size)};
  left = left.subspan(kBytesAroundChunk + size);
  return chunk;
}

}  // namespace ddp::images
