#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// The chunks of a PNG file; each has a length, a name, data and a checksum.
namespace ddp::images {

constexpr std::size_t kPngSignatureBytes = 8;

struct PngChunk {
  std::string_view type;
  std::span<const std::byte> data;

  // Does the checksum, which follows the data, match the name and the data?
  bool is_intact() const;
};

std::uint32_t big_endian(std::span<const std::byte> bytes);

// Removes the first chunk from `left` and returns it. Returns nothing if the chunk reaches beyond the end.
std::optional<PngChunk> take_png_chunk(std::span<const std::byte>& left);

}  // namespace ddp::images
