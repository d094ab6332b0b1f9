#include "base/shared_memory.h"

#include <sys/mman.h>
#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace ddp {
namespace {

// Address space only: a memory page counts once it is written to.
constexpr std::size_t kBytesPerRank = 1u << 20;

}  // namespace

SharedMapping::SharedMapping(std::size_t bytes) : size_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw training_error("cannot map " + std::to_string(bytes >> 20) + " MiB of shared memory: " + errno_text(errno));
  }
  data_ = memory;
}

SharedMapping::~SharedMapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

GroupMemory::GroupMemory(int ranks)
    : mapping_(kBytesPerRank * static_cast<std::size_t>(ranks)), file_(memfd_create("ddp-exp", MFD_CLOEXEC)) {}

MeetingPlace GroupMemory::at(MeetingPlace place) const {
  place.memory = mapping_.data();
  place.memory_bytes = mapping_.size();
  place.shared_file = file_.get();
  return place;
}

}  // namespace ddp
