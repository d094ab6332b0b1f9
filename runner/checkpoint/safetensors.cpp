#include "checkpoint/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>

#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "record/hash.h"

namespace ddp::checkpoint {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLargestHeader = 100u << 20;  // the format's own limit

const std::map<std::string, at::ScalarType>& dtypes() {
  static const std::map<std::string, at::ScalarType> known{
      {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf}, {"BF16", at::kBFloat16}, {"I64", at::kLong},
      {"I32", at::kInt},    {"I16", at::kShort}, {"I8", at::kChar},  {"U8", at::kByte},       {"BOOL", at::kBool},
  };
  return known;
}

std::string dtype_name(at::ScalarType type) {
  for (const auto& [name, known] : dtypes()) {
    if (known == type) return name;
  }
  throw training_error(std::string("a tensor of type ") + c10::toString(type) + " cannot be saved");
}

// A file in memory, read-only.
class MappedFile {
 public:
  explicit MappedFile(const fs::path& file) {
    FileDescriptor in(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!in || fstat(in.get(), &status) != 0) throw training_error("cannot open: " + errno_text(errno), file.string());
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;
    data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, in.get(), 0);
    if (data_ == MAP_FAILED) throw training_error("cannot read: " + errno_text(errno), file.string());
  }
  ~MappedFile() {
    if (data_ != nullptr) munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  const char* data() const { return static_cast<const char*>(data_); }
  std::uint64_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

std::string header_of(const NamedTensors& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  header["__metadata__"] = {{"format", "pt"}};  // what Python's save_file writes for torch tensors
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", dtype_name(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, offset + tensor.nbytes()}}};
    offset += tensor.nbytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // data starts at a multiple of 8
  return text;
}

// A number of bytes or elements: nlohmann would take 0.5 for 0.
std::uint64_t whole_number(const nlohmann::json& value) {
  if (!value.is_number_unsigned()) throw std::out_of_range("a number");
  return value.get<std::uint64_t>();
}

at::Tensor read_tensor(const nlohmann::json& entry, const char* data, std::uint64_t size) {
  const at::ScalarType type = dtypes().at(entry.at("dtype").get<std::string>());
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = c10::elementSize(type);
  const auto& extents = entry.at("shape");
  if (!extents.is_array()) throw std::out_of_range("shape");
  for (const auto& extent : extents) {
    shape.push_back(static_cast<std::int64_t>(whole_number(extent)));
    if (shape.back() < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(shape.back()), &bytes)) {
      throw std::out_of_range("shape");
    }
  }
  const auto begin = whole_number(entry.at("data_offsets").at(0));
  const auto end = whole_number(entry.at("data_offsets").at(1));
  if (begin > end || end > size || end - begin != bytes) throw std::out_of_range("data_offsets");
  at::Tensor tensor = at::empty(shape, type);
  if (bytes > 0) std::memcpy(tensor.mutable_data_ptr(), data + begin, bytes);
  return tensor;
}

// The format's own rule: the tensors' ranges lie end to end over all of the data. So what is read is never more than
// the file.
void require_each_byte_once(const nlohmann::json& header, std::uint64_t size, const std::string& name) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  try {
    for (const auto& [key, entry] : header.items()) {
      if (key == "__metadata__") continue;
      ranges.emplace_back(whole_number(entry.at("data_offsets").at(0)), whole_number(entry.at("data_offsets").at(1)));
    }
  } catch (const std::exception&) {
    throw training_error("is damaged: its header lacks offsets", name);
  }
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t end = 0;
  for (const auto& [first, last] : ranges) {
    if (first != end || last < first) throw training_error("is damaged: its tensors do not lie end to end", name);
    end = last;
  }
  if (end != size) throw training_error("is damaged: it holds more or less than its tensors", name);
}

}  // namespace

Digest write_safetensors(const fs::path& file, const NamedTensors& tensors) {
  const std::string header = header_of(tensors);
  FileDescriptor out(open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!out) throw training_error("cannot create: " + errno_text(errno), file.string());
  std::uint64_t length = header.size();
  char prefix[8];
  for (char& byte : prefix) {
    byte = static_cast<char>(length & 0xff);
    length >>= 8;
  }
  write_all(out.get(), prefix, sizeof prefix, file.string());
  write_all(out.get(), header.data(), header.size(), file.string());
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor bytes = tensor.detach().to(at::kCPU).contiguous();
    write_all(out.get(), bytes.const_data_ptr(), bytes.nbytes(), file.string());
  }
  if (fsync(out.get()) != 0) throw training_error("cannot write to disk: " + errno_text(errno), file.string());
  out.close();
  return digest(file);
}

NamedTensors read_safetensors(const fs::path& file) {
  const MappedFile mapped(file);
  std::uint64_t length = 0;
  if (mapped.size() >= 8) {
    for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(mapped.data()[i]);
  }
  if (mapped.size() < 8 || length > kLargestHeader || length > mapped.size() - 8) {
    throw training_error("is no safetensors file, or cut off", file.string());
  }
  const char* data = mapped.data() + 8 + length;
  const auto header = nlohmann::json::parse(mapped.data() + 8, data, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) throw training_error("is no safetensors file: its header is damaged", file.string());
  require_each_byte_once(header, mapped.size() - 8 - length, file.string());
  NamedTensors tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    try {
      tensors.emplace_back(name, read_tensor(entry, data, mapped.size() - 8 - length));
    } catch (const std::exception&) {
      throw training_error("is damaged at tensor \"" + name + "\"", file.string());
    }
  }
  return tensors;
}

Digest digest(const fs::path& file) {
  const MappedFile mapped(file);
  return {.bytes = mapped.size(), .hash = record::hash_hex(mapped.data(), mapped.size())};
}

}  // namespace ddp::checkpoint
