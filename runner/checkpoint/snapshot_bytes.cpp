#include "checkpoint/snapshot_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <ATen/ops/from_blob.h>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/shared_memory.h"
#include "format/safetensors.h"

namespace ddp::checkpoint {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kPiece = 8u << 20;

// Below this size the cost of the page cache is not measurable.
constexpr std::uint64_t kWorthDirect = 1u << 20;

// The layout of a file: its header, then all tensors.
struct Layout {
  NamedTensors tensors;
  std::string head;
  std::uint64_t size;  // bytes in all

  Layout(const NamedTensors& steady, const NamedTensors& changing) : tensors(steady) {
    tensors.insert(tensors.end(), changing.begin(), changing.end());
    head = format::safetensors_head(tensors);
    size = head.size();
    for (const auto& [name, tensor] : tensors) size += tensor.nbytes();
  }
};

// Bypasses the page cache if the file system allows it: the kernel's copy and the write-back would cost training time.
FileDescriptor create(const fs::path& file, std::uint64_t size) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  FileDescriptor out;
  if (size >= kWorthDirect) out = FileDescriptor(open(file.c_str(), kFlags | O_DIRECT, 0644));
  if (!out) out = FileDescriptor(open(file.c_str(), kFlags, 0644));
  if (!out) throw training_error("cannot create: " + errno_text(errno), file.string());
  return out;
}

// Writes whole memory pages. If the file system allowed O_DIRECT at open() but rejects a direct write, uses ordinary
// writes.
void write_pages(const FileDescriptor& out, const char* data, std::uint64_t size, const std::string& name,
                 const std::function<void()>& moved) {
  for (std::uint64_t done = 0; done < size;) {
    const ssize_t written = write(out.get(), data + done, std::min(kPiece, size - done));
    if (written >= 0) {
      done += static_cast<std::uint64_t>(written);
      moved();
      continue;
    }
    const int flags = fcntl(out.get(), F_GETFL);
    if (errno == EINTR) continue;
    if (errno != EINVAL || (flags & O_DIRECT) == 0 || fcntl(out.get(), F_SETFL, flags & ~O_DIRECT) != 0) {
      throw training_error("cannot write: " + errno_text(errno), name);
    }
  }
}

}  // namespace

SnapshotBytes::~SnapshotBytes() {
  if (data_ != nullptr) munmap(data_, capacity_);
}

bool SnapshotBytes::take(std::uint64_t bytes) {
  if (bytes <= capacity_) return false;
  if (data_ != nullptr) munmap(std::exchange(data_, nullptr), std::exchange(capacity_, 0));
  // Without huge pages: on a virtual machine whose host must first find them, touching them took eight times longer.
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw training_error("no memory to save from: " + errno_text(errno));
  data_ = static_cast<char*>(memory);
  capacity_ = bytes;
  return true;
}

void SnapshotBytes::reserve(const NamedTensors& steady, const NamedTensors& changing) {
  if (!take(in_pages(Layout(steady, changing).size))) return;
  for (std::uint64_t page = 0; page < capacity_; page += kPage) static_cast<volatile char*>(data_)[page] = 0;
}

void SnapshotBytes::add(const at::Tensor& tensor, char* to, bool steady) {
  if (tensor.nbytes() == 0) return;
  if (!steady || !tensor.is_cpu() || !tensor.is_contiguous()) {
    at::from_blob(to, tensor.sizes(), tensor.options().device(at::kCPU)).copy_(tensor.detach());
    return;
  }
  const char* from = static_cast<const char*>(tensor.const_data_ptr());
  for (std::uint64_t done = 0; done < tensor.nbytes(); done += kPiece) {
    pieces_.push_back(
        {.to = to + done, .from = from + done, .bytes = std::min<std::uint64_t>(kPiece, tensor.nbytes() - done)});
  }
}

void SnapshotBytes::begin(const NamedTensors& steady, const NamedTensors& changing) {
  const Layout layout(steady, changing);
  take(in_pages(layout.size));
  size_ = layout.size;
  pieces_.clear();
  taken_ = copied_ = 0;
  std::memcpy(data_, layout.head.data(), layout.head.size());
  char* next = data_ + layout.head.size();
  for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
    const at::Tensor& tensor = layout.tensors[i].second;
    add(tensor, next, i < steady.size());
    next += tensor.nbytes();
  }
  std::memset(next, 0, in_pages(size_) - size_);
}

void SnapshotBytes::finish() {
  for (std::size_t i = 0; (i = taken_++) < pieces_.size();) {
    std::memcpy(pieces_[i].to, pieces_[i].from, pieces_[i].bytes);
    if (++copied_ == pieces_.size()) copied_.notify_all();
  }
  for (std::size_t copied; (copied = copied_) < pieces_.size();) copied_.wait(copied);
}

record::Digest SnapshotBytes::write(const fs::path& file, const std::function<void()>& moved) const {
  FileDescriptor out = create(file, size_);
  write_pages(out, data_, in_pages(size_), file.string(), moved);
  if (ftruncate(out.get(), static_cast<off_t>(size_)) != 0) {
    throw training_error("cannot write to disk: " + errno_text(errno), file.string());
  }
  return {.bytes = size_, .hash = record::hash_hex(data_, size_)};
}

}  // namespace ddp::checkpoint
