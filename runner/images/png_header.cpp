#include "images/png_header.h"

#include <bit>
#include <optional>

#include "images/image_error.h"
#include "images/png_chunks.h"

namespace ddp::images {
namespace {

constexpr std::size_t kHeaderBytes = 13;  // the data of IHDR

PngChunk take_chunk(std::span<const std::byte>& left, const std::string& name) {
  const std::optional<PngChunk> chunk = take_png_chunk(left);
  if (!chunk) throw truncated(name);
  return *chunk;
}

}  // namespace

PngHeader read_png_header(std::span<const std::byte> bytes, const std::string& name) {
  std::span<const std::byte> left = bytes.subspan(kPngSignatureBytes);
  const PngChunk first = take_chunk(left, name);
  if (first.type != "IHDR" || first.data.size() != kHeaderBytes) throw damaged(name, "its first chunk is not a header");
  const PngHeader header{.size = {.height = big_endian(first.data.subspan(4)), .width = big_endian(first.data)},
                         .bits = std::to_integer<int>(first.data[8]),
                         .color = std::to_integer<int>(first.data[9]),
                         .interlaced = first.data[12] != std::byte{0}};
  check_size(name, header.size);
  if (std::popcount(static_cast<unsigned>(header.bits)) != 1 || header.bits > 16) {
    throw damaged(name, "its header says " + std::to_string(header.bits) + " bits per channel");
  }
  while (take_chunk(left, name).type != "IEND") {
  }
  return header;
}

}  // namespace ddp::images
