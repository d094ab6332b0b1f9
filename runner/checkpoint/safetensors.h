#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "model/named_tensors.h"

namespace ddp::checkpoint {

// A file's size and XXH3-64, as state.json records them.
struct Digest {
  std::uint64_t bytes = 0;
  std::string hash;
  bool operator==(const Digest&) const = default;
};

// The format's name of a type of numbers: "F32". Throws ddp::Error (training) where it has none.
std::string dtype_name(at::ScalarType type);

// Reads a safetensors file, onto the CPU. The file is data from outside: every length, offset, dtype and shape is
// checked before it is used, and memory stays within the file's size. Throws ddp::Error (training).
NamedTensors read_safetensors(const std::filesystem::path& file);

}  // namespace ddp::checkpoint
