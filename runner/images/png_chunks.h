#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// The chunks of a PNG file: a length, a name, data and a checksum each.
namespace ddp::images {

constexpr std::size_t kPngSignatureBytes = 8;

struct PngChunk {
  std::string_view type;
  std::span<const std::byte> data;

  // Does the checksum, which follows the data, fit them and the name?
  bool is_intact() const;
};

std::uint32_t big_endian(std::span<const std::byte> bytes);

// Takes the first chunk off what is left. Nothing: it reaches beyond the end.
std::optional<PngChunk> take_png_chunk(std::span<const std::byte>& left);

}  // namespace ddp::images
