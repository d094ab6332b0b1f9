#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "model/named_tensors.h"

// The safetensors format (https://github.com/huggingface/safetensors): an 8-byte little-endian length, a JSON header of
// that length, raw data. It is what Python reads with safetensors.torch.load_file.
namespace ddp::format {

// Reads a file, onto the CPU. The file is data from outside: every length, offset, dtype and shape is checked before it
// is used, and memory stays within the file's size. Throws ddp::Error (training).
NamedTensors read_safetensors(const std::filesystem::path& file);

// The same, but the tensors lie in the file's pages, which are mapped and must not be written to. All processes that
// map one file share them. The file must not become shorter while a tensor lives.
NamedTensors map_safetensors(const std::filesystem::path& file);

// Writes a file of these tensors of the CPU, without fsync. Throws ddp::Error (training).
void write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors);

// Returns what a file of these tensors begins with: length and header. The tensors' bytes follow, end to end.
// Throws ddp::Error (training) where the format has no name for a type of numbers.
std::string safetensors_head(const NamedTensors& tensors);

}  // namespace ddp::format
