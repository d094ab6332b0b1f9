#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/array.h"

// The .npy format of NumPy, versions 1 to 3 (numpy/lib/_format_impl.py describes it): a magic number, a Python dict
// with type, order and shape, and the raw numbers. Booleans, integers and floats of 16, 32 and 64 bits are read, of
// either byte order, in C or Fortran order. All else is refused by its name: Python objects would have to be unpickled,
// which runs code from the file.
namespace ddp::format {

// The place and the kind of the numbers in an .npy file.
struct NpyHeader {
  Element element = Element::float32;
  bool swapped = false;
  bool fortran = false;
  std::vector<std::int64_t> shape = {};
  std::uint64_t begin = 0;  // of the numbers, in bytes from the file's beginning
  std::uint64_t bytes = 0;  // of the numbers
};

// So many bytes from a file's beginning hold its whole header.
inline constexpr std::size_t kLargestNpyHeader = 12 + (1 << 16);

// Reads the header of a file that begins with these bytes. Throws ddp::Error (usage), which says `name`.
NpyHeader read_npy_header(std::string_view start, const std::string& name);

// Returns the array in the bytes of a whole file, which `memory` keeps. Throws ddp::Error (usage) also where they are
// fewer or more than the header says.
Array npy_array(std::string_view bytes, std::shared_ptr<const void> memory, const std::string& name);

// The array in a file, in its pages. Throws ddp::Error (usage).
Array map_npy(const std::filesystem::path& file);

}  // namespace ddp::format
