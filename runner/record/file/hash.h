#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace ddp::record {

// The size and XXH3-64 of a file, as state.json records them.
struct Digest {
  std::uint64_t bytes = 0;
  std::string hash;
  bool operator==(const Digest&) const = default;
};

// Returns the XXH3-64 of the bytes as 16 hexadecimal digits. It detects damage, not an attack.
std::string hash_hex(const void* data, std::size_t size);
std::string hash_hex(const std::string& text);

// The same for a file, read piece by piece. Throws ddp::Error (training) if the file cannot be read.
std::string hash_hex_of(const std::filesystem::path& file);

}  // namespace ddp::record
