#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddp::checkpoint {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// A file's size and XXH3-64, as state.json records them.
struct Digest {
  std::uint64_t bytes = 0;
  std::string hash;
  bool operator==(const Digest&) const = default;
};

// Writes tensors in the safetensors format (8-byte little-endian header length, JSON header, raw data;
// https://github.com/huggingface/safetensors): what Python reads with safetensors.torch.load_file. Tensors on
// other devices are copied to the CPU; strided ones are made contiguous. fsynced.
// Throws ddp::Error (training).
Digest write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors);

// Reads it back, onto the CPU. The file is data from outside: every length, offset, dtype and shape is
// checked before it is used, and memory stays within the file's size. Throws ddp::Error (training).
NamedTensors read_safetensors(const std::filesystem::path& file);

// The digest of a file on disk.
Digest digest(const std::filesystem::path& file);

}  // namespace ddp::checkpoint
