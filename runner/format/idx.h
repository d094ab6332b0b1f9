#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddp::format {

// The head of an IDX file (http://yann.lecun.com/exdb/mnist): two zero bytes, the type of the numbers, the number of
// extents, then each extent in four bytes, the highest first.
struct IdxHeader {
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  // of the numbers, in bytes from the start of the file
  std::int64_t bytes = 0;  // of the numbers
};

// Bytes at the start of a file within which its header ends.
inline constexpr std::size_t kLargestIdxHeader = 4 + 4 * 4;

// `start`: the first bytes of a file, as many as there are up to kLargestIdxHeader. Throws ddp::Error (usage) where it
// is no header of 8-bit numbers with one to four extents.
IdxHeader read_idx_header(std::string_view start, const std::string& name);

// Reads the 8-bit numbers of an IDX file, which gzip may have packed: uint8, of the file's shape. Throws ddp::Error
// (usage) where it cannot be read, or its header does not tell its size.
at::Tensor read_idx(const std::filesystem::path& file);

}  // namespace ddp::format
