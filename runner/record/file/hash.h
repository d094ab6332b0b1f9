#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace ddp::record {

// A file's size and XXH3-64, as state.json records them.
struct Digest {
  std::uint64_t bytes = 0;
  std::string hash;
  bool operator==(const Digest&) const = default;
};

// XXH3-64 of the bytes, as 16 hexadecimal digits. Against damage, not against an attacker.
std::string hash_hex(const void* data, std::size_t size);
std::string hash_hex(const std::string& text);

// Of a file's bytes, a piece at a time. Throws ddp::Error (training) where it cannot be read.
std::string hash_hex_of(const std::filesystem::path& file);

}  // namespace ddp::record
