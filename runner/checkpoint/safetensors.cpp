#include "checkpoint/safetensors.h"

#include <algorithm>
#include <map>

#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "record/file/input_file.h"

namespace ddp::checkpoint {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLargestHeader = 100u << 20;  // the format's own limit
constexpr std::size_t kMostDimensions = 64;
constexpr const char* kMetadata = "__metadata__";

const std::map<std::string, at::ScalarType>& dtypes() {
  static const std::map<std::string, at::ScalarType> known{
      {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf}, {"BF16", at::kBFloat16}, {"I64", at::kLong},
      {"I32", at::kInt},    {"I16", at::kShort}, {"I8", at::kChar},  {"U8", at::kByte},       {"BOOL", at::kBool},
  };
  return known;
}

// Where a tensor's bytes lie in the data.
std::pair<std::uint64_t, std::uint64_t> range_of(const nlohmann::json& entry) {
  const auto& offsets = config::member(entry, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) throw std::runtime_error("it has no data_offsets");
  const auto begin = static_cast<std::uint64_t>(config::as_count(offsets[0]));
  const auto end = static_cast<std::uint64_t>(config::as_count(offsets[1]));
  if (begin > end) throw std::runtime_error("its data ends before it begins");
  return {begin, end};
}

std::vector<std::int64_t> shape_of(const nlohmann::json& entry, std::uint64_t element_size, std::uint64_t bytes) {
  const auto& extents = config::member(entry, "shape");
  if (!extents.is_array() || extents.size() > kMostDimensions) throw std::runtime_error("its shape is none");
  std::vector<std::int64_t> shape;
  std::uint64_t strides = element_size;  // also of an empty tensor, whose other extents are multiplied too
  bool empty = false;
  for (const auto& extent : extents) {
    shape.push_back(config::as_count(extent));
    empty = empty || shape.back() == 0;
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(shape.back(), 1));
    if (__builtin_mul_overflow(strides, factor, &strides) || strides > INT64_MAX) {
      throw std::runtime_error("its shape is too large");
    }
  }
  if (bytes != (empty ? 0 : strides)) throw std::runtime_error("its shape does not fit its data");
  return shape;
}

// `data`: where the file's data begins.
at::Tensor read_tensor(const nlohmann::json& entry, const record::InputFile& file, std::uint64_t data) {
  const auto dtype = dtypes().find(config::text_member(entry, "dtype"));
  if (dtype == dtypes().end()) throw std::runtime_error("its dtype is none that is known");
  const auto [begin, end] = range_of(entry);
  const auto shape = shape_of(entry, c10::elementSize(dtype->second), end - begin);
  at::Tensor tensor = at::empty(shape, dtype->second);
  if (end > begin) file.read(data + begin, tensor.mutable_data_ptr(), end - begin);
  return tensor;
}

// The format's own rule: the tensors' ranges lie end to end over all of the data. So what is read is never more than
// the file.
void require_each_byte_once(const nlohmann::json& header, std::uint64_t size) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name != kMetadata) ranges.push_back(range_of(entry));
  }
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t end = 0;
  for (const auto& [first, last] : ranges) {
    if (first != end) throw std::runtime_error("its tensors do not lie end to end");
    end = last;
  }
  if (end != size) throw std::runtime_error("it holds more or less than its tensors");
}

nlohmann::json read_header(const record::InputFile& file, std::uint64_t length) {
  std::string text(length, '\0');
  file.read(8, text.data(), length);
  nlohmann::json header = config::parse_json(text);
  if (!header.is_object()) throw std::runtime_error("its header is no object");
  return header;
}

}  // namespace

std::string dtype_name(at::ScalarType type) {
  for (const auto& [name, known] : dtypes()) {
    if (known == type) return name;
  }
  throw training_error(std::string("a tensor of type ") + c10::toString(type) + " cannot be saved");
}

NamedTensors read_safetensors(const fs::path& file) {
  const record::InputFile in(file);
  unsigned char prefix[8] = {};
  std::uint64_t length = 0;
  if (in.size() >= sizeof prefix) in.read(0, prefix, sizeof prefix);
  for (int i = 7; i >= 0; --i) length = length << 8 | prefix[i];
  if (in.size() < sizeof prefix || length > kLargestHeader || length > in.size() - sizeof prefix) {
    throw training_error("is no safetensors file, or cut off", file.string());
  }
  const std::uint64_t begin = sizeof prefix + length;
  std::string place = "its header";
  try {
    const nlohmann::json header = read_header(in, length);
    require_each_byte_once(header, in.size() - begin);
    NamedTensors tensors;
    for (const auto& [name, entry] : header.items()) {
      if (name == kMetadata) continue;
      place = "tensor " + config::in_quotes(name);
      tensors.emplace_back(name, read_tensor(entry, in, begin));
    }
    return tensors;
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw training_error("is damaged at " + place + ": " + error.msg(), file.string());
  } catch (const std::exception& error) {
    throw training_error("is damaged at " + place + ": " + error.what(), file.string());
  }
}

}  // namespace ddp::checkpoint
