#include "format/array.h"

#include <sys/mman.h>
#include <algorithm>
#include <cerrno>
#include <exception>
#include <iterator>
#include <stdexcept>

#include <c10/util/Exception.h>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "config/check/suggest.h"
#include "config/text/source.h"
#include "format/mapped_file.h"

namespace ddp::format {
namespace {

struct ElementKind {
  const char* name;
  std::size_t size;
  at::ScalarType type;
};

constexpr ElementKind kElements[] = {
    // in the order of Element
    {"bool", 1, at::kBool},      {"int8", 1, at::kChar},    {"int16", 2, at::kShort},       {"int32", 4, at::kInt},
    {"int64", 8, at::kLong},     {"uint8", 1, at::kByte},   {"uint16", 2, at::kUInt16},     {"uint32", 4, at::kUInt32},
    {"uint64", 8, at::kUInt64},  {"float16", 2, at::kHalf}, {"bfloat16", 2, at::kBFloat16}, {"float32", 4, at::kFloat},
    {"float64", 8, at::kDouble},
};
static_assert(std::size(kElements) == static_cast<std::size_t>(Element::float64) + 1);

}  // namespace

std::string name_of(Element element) { return kElements[static_cast<std::size_t>(element)].name; }

std::size_t size_of(Element element) { return kElements[static_cast<std::size_t>(element)].size; }

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
  const auto* const kind = std::find_if(std::begin(kElements), std::end(kElements),
                                        [&](const ElementKind& one) { return one.type == tensor.scalar_type(); });
  if (kind == std::end(kElements)) {
    throw usage_error(std::string("holds numbers of type ") + c10::toString(tensor.scalar_type()), name);
  }
  Array array{
      .name = std::move(name), .element = static_cast<Element>(kind - kElements), .shape = tensor.sizes().vec()};
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

MappedFile map_file(const record::InputFile& file, const std::filesystem::path& name, bool writable) {
  const std::uint64_t size = file.size();
  if (size == 0) return {};
  void* pages = mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (pages == MAP_FAILED) throw training_error("cannot be mapped: " + errno_text(errno), name.string());
  return {.memory = {pages, [size](void* begin) { munmap(begin, size); }},
          .bytes = {static_cast<const char*>(pages), size}};
}

}  // namespace ddp::format
