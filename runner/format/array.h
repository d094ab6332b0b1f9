#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/error.h"

namespace ddp::format {

enum class Element {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64
};

std::size_t size_of(Element element);
bool is_float(Element element);
// Returns NumPy's name of the type: "uint8", "float32".
std::string name_of(Element element);

// The numbers of a file as they lie in it: nothing is copied or converted. An element may start at any address.
struct Array {
  std::string name = {};  // errors show it: the file, and the name in the file where it has one
  Element element = Element::float32;
  bool swapped = false;                     // the bytes of an element are in the order that is not the machine's
  std::vector<std::int64_t> shape = {};     // empty: one number
  std::vector<std::int64_t> strides = {};   // in bytes, one for each extent
  const char* data = nullptr;               // of the first element
  std::shared_ptr<const void> memory = {};  // keeps the bytes

  // Values of a row: the product of all extents but the first.
  std::int64_t row_size() const;
};

// Returns the strides in bytes of an array whose elements lie end to end, the last extent first, or with `fortran` the
// first extent first.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape, std::size_t element, bool fortran);

// Returns the bytes of an array of this shape, at most INT64_MAX. Extents that cannot be of one array, also beside an
// extent of 0, throw std::runtime_error.
std::uint64_t bytes_of(const std::vector<std::int64_t>& shape, std::size_t element);

// Returns a tensor of the CPU as an array that keeps it. Throws ddp::Error (usage) where its numbers are none of the
// kinds above.
Array array_of(std::string name, const at::Tensor& tensor);

// Returns the error (usage) about a name that a file has no array for; it lists those that it has.
Error no_array(const std::string& name, const std::vector<std::string>& known, const std::string& file);

}  // namespace ddp::format
