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

// The numbers of a file in place: nothing is copied or converted. Elements may be unaligned.
struct Array {
  std::string name = {};  // for errors: the file, and the array's name in the file if it has one
  Element element = Element::float32;
  bool swapped = false;                     // the byte order of an element is not the machine's
  std::vector<std::int64_t> shape = {};     // empty: a single number
  std::vector<std::int64_t> strides = {};   // in bytes, one per dimension
  const char* data = nullptr;               // of the first element
  std::shared_ptr<const void> memory = {};  // owns the bytes

  // The number of values per row: the product of all dimensions except the first.
  std::int64_t row_size() const;
};

// Returns the strides in bytes of a contiguous array: the last dimension varies fastest, or with `fortran` the first.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape, std::size_t element, bool fortran);

// Returns the number of bytes of an array of this shape, at most INT64_MAX. Throws std::runtime_error for impossible
// dimensions, even if another dimension is 0.
std::uint64_t bytes_of(const std::vector<std::int64_t>& shape, std::size_t element);

// Wraps a CPU tensor as an array that keeps the tensor alive. Throws ddp::Error (usage) if its type is not an Element.
Array array_of(std::string name, const at::Tensor& tensor);

// Returns a usage error for an array that the file lacks; the error lists the arrays of the file.
Error no_array(const std::string& name, const std::vector<std::string>& known, const std::string& file);

// Call it in a catch block of code that reads untrusted data. Rethrows a ddp::Error unchanged, and throws other
// exceptions of LibTorch or the standard library as ddp::Error (usage) about `where`, with that remedy.
[[noreturn]] void throw_refusal(const std::string& where, const std::string& remedy = "");

}  // namespace ddp::format
