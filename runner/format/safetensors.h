#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "format/mapped_file.h"
#include "model/named_tensors.h"

// The safetensors format (https://github.com/huggingface/safetensors): the header's length as 8 bytes, little-endian, a
// JSON header, and raw data. Python reads it with safetensors.torch.load_file.
namespace ddp::format {

// Reads a file to the CPU. The file is untrusted: every length, offset, dtype and shape is checked before use, and
// memory stays within the file's size. Throws ddp::Error (training).
NamedTensors read_safetensors(const std::filesystem::path& file);

// The same, but the tensors are memory-mapped and must not be written to. All processes that map the file share its
// pages. The file must not shrink while a tensor lives.
NamedTensors map_safetensors(const std::filesystem::path& file);
// The same, of a file that is mapped already, perhaps writable; `name` stands in errors.
NamedTensors safetensors_in(const MappedFile& file, const std::filesystem::path& name);

// Writes a file of CPU tensors, without fsync. Throws ddp::Error (training).
void write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors);

// Returns the beginning of a file of these tensors: length and header. The tensors' bytes follow without gaps. Throws
// ddp::Error (training) if the format lacks the type of a tensor.
std::string safetensors_head(const NamedTensors& tensors);

}  // namespace ddp::format
