#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/array.h"

// NumPy's .npy format, versions 1 to 3 (described in numpy/lib/_format_impl.py): a magic number, a Python dict with
// type, order and shape, and the raw numbers. Supported are booleans, integers, and floats of 16, 32 and 64 bits, in
// either byte order, in C or Fortran order. Other types are refused by name: Python objects require unpickling, which
// runs code from the file.
namespace ddp::format {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";  // the first bytes of a file

// The type, shape and offset of the numbers in an .npy file.
struct NpyHeader {
  Element element = Element::float32;
  bool swapped = false;
  bool fortran = false;
  std::vector<std::int64_t> shape = {};
  std::uint64_t begin = 0;  // offset of the numbers in bytes
  std::uint64_t bytes = 0;  // bytes of the numbers
};

// The first bytes of a file that surely contain its whole header.
inline constexpr std::size_t kLargestNpyHeader = 12 + (1 << 16);

// Reads the header of a file from its first bytes. Throws ddp::Error (usage) that names `name`.
NpyHeader read_npy_header(std::string_view start, const std::string& name);

// Returns the array in the bytes of a whole file; `memory` owns them. Throws ddp::Error (usage), also if the number of
// bytes differs from the header.
Array npy_array(std::string_view bytes, std::shared_ptr<const void> memory, const std::string& name);

// Maps the array of a file. Throws ddp::Error (usage).
Array map_npy(const std::filesystem::path& file);

}  // namespace ddp::format
