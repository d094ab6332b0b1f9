#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddp::format {

// The header of an IDX file (http://yann.lecun.com/exdb/mnist): two zero bytes, the type of the numbers, the number of
// dimensions, then each dimension in four bytes, big-endian.
struct IdxHeader {
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  // offset of the numbers in bytes
  std::int64_t bytes = 0;  // bytes of the numbers
};

// The largest size of a header in bytes.
inline constexpr std::size_t kLargestIdxHeader = 4 + 4 * 4;

// `start` holds the first bytes of a file: up to kLargestIdxHeader, or the whole file. Throws ddp::Error (usage) unless
// they are a header of 8-bit numbers with one to four dimensions.
IdxHeader read_idx_header(std::string_view start, const std::string& name);

// Reads the 8-bit numbers of an IDX file, which may be gzip-compressed, as uint8 in the file's shape. Throws ddp::Error
// (usage) if the file cannot be read or its size differs from its header.
at::Tensor read_idx(const std::filesystem::path& file);

}  // namespace ddp::format
