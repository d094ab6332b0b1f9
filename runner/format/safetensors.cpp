#include "format/safetensors.h"

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "format/array.h"
#include "format/mapped_file.h"
#include "record/file/input_file.h"

namespace ddp::format {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLargestHeader = 100u << 20;  // the format's own limit
constexpr std::size_t kMostDimensions = 64;
constexpr const char* kMetadata = "__metadata__";

const std::map<std::string, at::ScalarType>& dtypes() {
  static const std::map<std::string, at::ScalarType> known{
      {"F64", at::kDouble}, {"F32", at::kFloat},  {"F16", at::kHalf},   {"BF16", at::kBFloat16}, {"I64", at::kLong},
      {"I32", at::kInt},    {"I16", at::kShort},  {"I8", at::kChar},    {"U8", at::kByte},       {"BOOL", at::kBool},
      {"U16", at::kUInt16}, {"U32", at::kUInt32}, {"U64", at::kUInt64},
  };
  return known;
}

std::string dtype_name(at::ScalarType type) {
  for (const auto& [name, known] : dtypes()) {
    if (known == type) return name;
  }
  throw training_error(std::string("a tensor of type ") + c10::toString(type) + " cannot be saved");
}

// The range of a tensor's bytes in the data.
std::pair<std::uint64_t, std::uint64_t> range_of(const nlohmann::json& entry) {
  const auto& offsets = config::member(entry, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) throw std::runtime_error("its data_offsets are invalid");
  const auto begin = static_cast<std::uint64_t>(config::as_count(offsets[0]));
  const auto end = static_cast<std::uint64_t>(config::as_count(offsets[1]));
  if (begin > end) throw std::runtime_error("its data ends before it begins");
  return {begin, end};
}

std::vector<std::int64_t> shape_of(const nlohmann::json& entry, std::uint64_t element_size, std::uint64_t bytes) {
  const auto& extents = config::member(entry, "shape");
  if (!extents.is_array() || extents.size() > kMostDimensions) throw std::runtime_error("its shape is invalid");
  std::vector<std::int64_t> shape;
  for (const auto& extent : extents) shape.push_back(config::as_count(extent));
  if (bytes != bytes_of(shape, element_size)) throw std::runtime_error("its shape does not match its data");
  return shape;
}

// A tensor as described by the header.
struct Entry {
  std::string name;
  at::ScalarType dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t offset;  // of its bytes in the file
  std::uint64_t bytes;
};

// A file of other types, such as fp8 or complex numbers, is whole.
Error unknown_dtype(const std::string& name, const std::string& dtype, const std::string& file) {
  std::string known;
  for (const auto& [one, type] : dtypes()) known += (known.empty() ? "" : ", ") + one;
  return training_error(
      "tensor " + config::in_quotes(name) + " has the dtype " + config::in_quotes(dtype) + ", which is not supported",
      file, "supported: " + known);
}

// `data` is the file offset of the data.
Entry entry_of(const std::string& name, const nlohmann::json& described, std::uint64_t data, const std::string& file) {
  const std::string given = config::text_member(described, "dtype");
  const auto dtype = dtypes().find(given);
  if (dtype == dtypes().end()) throw unknown_dtype(name, given, file);
  const auto [begin, end] = range_of(described);
  return {.name = name,
          .dtype = dtype->second,
          .shape = shape_of(described, c10::elementSize(dtype->second), end - begin),
          .offset = data + begin,
          .bytes = end - begin};
}

// The format's own rule: the ranges of the tensors cover all of the data without gaps or overlaps. This limits the
// memory to the size of the file.
void require_each_byte_once(const nlohmann::json& header, std::uint64_t size) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name != kMetadata) ranges.push_back(range_of(entry));
  }
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t end = 0;
  for (const auto& [first, last] : ranges) {
    if (first != end) throw std::runtime_error("its tensors are not contiguous");
    end = last;
  }
  if (end != size) throw std::runtime_error("the sizes of its tensors do not add up to its size");
}

// Copies bytes of the file from an offset.
using Read = std::function<void(std::uint64_t offset, void* data, std::size_t size)>;

nlohmann::json read_header(const Read& read, std::uint64_t length) {
  std::string text(length, '\0');
  read(8, text.data(), length);
  nlohmann::json header = config::parse_json(text);
  if (!header.is_object()) throw std::runtime_error("its header is not an object");
  return header;
}

// Applies `take` to each tensor of a file of `size` bytes and returns the results.
template <class Take>
NamedTensors tensors_of(std::uint64_t size, const Read& read, const std::string& name_of_file, const Take& take) {
  unsigned char prefix[8] = {};
  std::uint64_t length = 0;
  if (size >= sizeof prefix) read(0, prefix, sizeof prefix);
  for (int i = 7; i >= 0; --i) length = length << 8 | prefix[i];
  if (prefix[0] == 'P' && prefix[1] == 'K') {
    throw training_error("is a zip archive such as torch.save writes, not a safetensors file", name_of_file,
                         "write the weights in Python with safetensors.torch.save_file");
  }
  if (size < sizeof prefix || length > kLargestHeader || length > size - sizeof prefix) {
    throw training_error("is not a safetensors file, or cut off", name_of_file);
  }
  const std::uint64_t begin = sizeof prefix + length;
  std::string place = "its header";
  try {
    const nlohmann::json header = read_header(read, length);
    require_each_byte_once(header, size - begin);
    NamedTensors tensors;
    for (const auto& [name, described] : header.items()) {
      if (name == kMetadata) continue;
      place = "tensor " + config::in_quotes(name);
      tensors.emplace_back(name, take(entry_of(name, described, begin, name_of_file)));
    }
    return tensors;
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw training_error("is damaged at " + place + ": " + error.msg(), name_of_file);
  } catch (const std::exception& error) {
    throw training_error("is damaged at " + place + ": " + error.what(), name_of_file);
  }
}

at::Tensor read_tensor(const Read& read, const Entry& entry) {
  at::Tensor tensor = at::empty(entry.shape, entry.dtype);
  if (entry.bytes > 0) read(entry.offset, tensor.mutable_data_ptr(), entry.bytes);
  return tensor;
}

}  // namespace

NamedTensors read_safetensors(const fs::path& file) {
  const record::InputFile in(file);
  const Read read = [&](std::uint64_t offset, void* data, std::size_t size) { in.read(offset, data, size); };
  return tensors_of(in.size(), read, file.string(), [&](const Entry& entry) { return read_tensor(read, entry); });
}

NamedTensors safetensors_in(const MappedFile& file, const fs::path& name) {
  const Read read = [&](std::uint64_t offset, void* data, std::size_t size) {
    std::memcpy(data, file.bytes.data() + offset, size);
  };
  return tensors_of(file.bytes.size(), read, name.string(), [&](const Entry& entry) {
    const bool aligned = entry.offset % c10::elementSize(entry.dtype) == 0;
    if (entry.bytes == 0 || !aligned) return read_tensor(read, entry);
    // from_blob takes a writable pointer, but the pages may be mapped read-only.
    char* begin = const_cast<char*>(file.bytes.data()) + entry.offset;
    return at::from_blob(
        begin, entry.shape, [memory = file.memory](void*) {}, at::TensorOptions(entry.dtype));
  });
}

NamedTensors map_safetensors(const fs::path& file) {
  return safetensors_in(map_file(record::InputFile(file), file), file);
}

std::string safetensors_head(const NamedTensors& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  header[kMetadata] = {{"format", "pt"}};  // Python's save_file writes this for torch tensors
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", dtype_name(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, offset + tensor.nbytes()}}};
    offset += tensor.nbytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // data starts at a multiple of 8
  std::string head;
  for (int byte = 0; byte < 8; ++byte) head += static_cast<char>(text.size() >> (8 * byte) & 0xff);
  return head + text;
}

void write_safetensors(const fs::path& file, const NamedTensors& tensors) {
  const FileDescriptor out(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!out) throw training_error("cannot create: " + errno_text(errno), file.string());
  const std::string head = safetensors_head(tensors);
  write_all(out.get(), head.data(), head.size(), file.string());
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor bytes = tensor.contiguous();
    write_all(out.get(), bytes.const_data_ptr(), bytes.nbytes(), file.string());
  }
}

}  // namespace ddp::format
