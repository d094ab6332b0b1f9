#include "format/array.h"

#include <sys/mman.h>
#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <stdexcept>

#include <c10/util/Exception.h>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "config/suggest.h"
#include "config/text/source.h"
#include "format/mapped_file.h"

namespace ddp::format {
namespace {

std::optional<Element> element_of(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return Element::boolean;
    case at::kChar:
      return Element::int8;
    case at::kShort:
      return Element::int16;
    case at::kInt:
      return Element::int32;
    case at::kLong:
      return Element::int64;
    case at::kByte:
      return Element::uint8;
    case at::kUInt16:
      return Element::uint16;
    case at::kUInt32:
      return Element::uint32;
    case at::kUInt64:
      return Element::uint64;
    case at::kHalf:
      return Element::float16;
    case at::kBFloat16:
      return Element::bfloat16;
    case at::kFloat:
      return Element::float32;
    case at::kDouble:
      return Element::float64;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string name_of(Element element) {
  static constexpr const char* kNames[] = {"bool",   "int8",   "int16",   "int32",    "int64",   "uint8",  "uint16",
                                           "uint32", "uint64", "float16", "bfloat16", "float32", "float64"};
  return kNames[static_cast<std::size_t>(element)];
}

std::size_t size_of(Element element) {
  switch (element) {
    case Element::boolean:
    case Element::int8:
    case Element::uint8:
      return 1;
    case Element::int16:
    case Element::uint16:
    case Element::float16:
    case Element::bfloat16:
      return 2;
    case Element::int32:
    case Element::uint32:
    case Element::float32:
      return 4;
    case Element::int64:
    case Element::uint64:
    case Element::float64:
      break;
  }
  return 8;
}

bool is_float(Element element) { return element >= Element::float16; }

std::int64_t Array::row_size() const {
  std::int64_t values = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) values *= shape[i];
  return values;
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape, std::size_t element, bool fortran) {
  std::vector<std::int64_t> strides(shape.size());
  auto next = static_cast<std::int64_t>(element);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t extent = fortran ? i : shape.size() - 1 - i;
    strides[extent] = next;
    next *= std::max<std::int64_t>(shape[extent], 1);
  }
  return strides;
}

std::uint64_t bytes_of(const std::vector<std::int64_t>& shape, std::size_t element) {
  std::uint64_t bytes = element;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw std::runtime_error("its shape is invalid");
    empty = empty || extent == 0;
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1));
    if (__builtin_mul_overflow(bytes, factor, &bytes) || bytes > INT64_MAX) {
      throw std::runtime_error("its shape is too large");
    }
  }
  return empty ? 0 : bytes;
}

Array array_of(std::string name, const at::Tensor& tensor) {
  const auto element = element_of(tensor.scalar_type());
  if (!element) throw usage_error(std::string("holds numbers of type ") + c10::toString(tensor.scalar_type()), name);
  Array array{.name = std::move(name), .element = *element, .shape = tensor.sizes().vec()};
  for (const std::int64_t stride : tensor.strides()) array.strides.push_back(stride * tensor.element_size());
  array.data = static_cast<const char*>(tensor.const_data_ptr());
  array.memory = std::make_shared<at::Tensor>(tensor);
  return array;
}

Error no_array(const std::string& name, const std::vector<std::string>& known, const std::string& file) {
  return usage_error("has no array " + config::in_quotes(name), file,
                     config::suggestion(name, known, "the arrays in it"));
}

void throw_refusal(const std::string& where, const std::string& remedy) try { throw; } catch (const Error&) {
  throw;
} catch (const c10::Error& error) {
  throw usage_error(error.msg(), where, remedy);
} catch (const std::exception& error) {
  throw usage_error(error.what(), where, remedy);
}

MappedFile map_file(const record::InputFile& file, const std::filesystem::path& name) {
  const std::uint64_t size = file.size();
  if (size == 0) return {};
  void* pages = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (pages == MAP_FAILED) throw training_error("cannot be mapped: " + errno_text(errno), name.string());
  return {.memory = {pages, [size](void* begin) { munmap(begin, size); }},
          .bytes = {static_cast<const char*>(pages), size}};
}

}  // namespace ddp::format
