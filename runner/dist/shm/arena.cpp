#include "dist/shm/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include "base/shared_memory.h"

namespace ddp::dist {
namespace {

thread_local SharedArena* in_use = nullptr;

// Allocates pages of the file now. Otherwise a write to a memory page that the kernel cannot provide would raise
// SIGBUS.
bool get_pages(int file, off_t place, std::size_t bytes) {
  int result = 0;
  do {
    result = fallocate(file, 0, place, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace

// Wraps LibTorch's CPU allocator, because the Reducer allocates its buckets itself and they must be in the arena.
class SharedArena::Allocator : public c10::Allocator {
 public:
  static void install() {
    static SharedArena::Allocator allocator(c10::GetCPUAllocator());
    static const bool installed = (c10::SetCPUAllocator(&allocator), true);
    (void)installed;
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    std::byte* memory = in_use != nullptr && bytes >= kPage ? in_use->take(bytes) : nullptr;
    if (memory == nullptr) return others_->allocate(bytes);
    return {memory, new std::shared_ptr<SharedArena>(in_use->shared_from_this()), free, c10::DeviceType::CPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return others_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { others_->copy_data(to, from, bytes); }

 private:
  explicit Allocator(c10::Allocator* others) : others_(others) {}

  static void free(void* owner) {
    const std::unique_ptr<std::shared_ptr<SharedArena>> arena(static_cast<std::shared_ptr<SharedArena>*>(owner));
    (*arena)->give_back();
  }

  c10::Allocator* const others_;
};

SharedArena::~SharedArena() {
  if (memory_ != nullptr) munmap(memory_, part_ * static_cast<std::size_t>(world_size_));
}

void SharedArena::reserve(std::size_t bytes) {
  if (!exists() || memory_ != nullptr || bytes == 0) return;
  const std::size_t part = in_pages(bytes);
  const std::size_t all = part * static_cast<std::size_t>(world_size_);
  if (ftruncate(file_, static_cast<off_t>(all)) != 0) return;
  void* memory = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<std::byte*>(memory);
  part_ = part;
  Allocator::install();
}

std::shared_ptr<std::byte> SharedArena::common(std::size_t bytes) const {
  if (memory_ == nullptr || bytes == 0) return nullptr;
  const auto place = static_cast<off_t>(part_ * static_cast<std::size_t>(world_size_));
  if (ftruncate(file_, place + static_cast<off_t>(in_pages(bytes))) != 0) return nullptr;
  if (!get_pages(file_, place, in_pages(bytes))) return nullptr;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, place);
  if (memory == MAP_FAILED) return nullptr;
  return {static_cast<std::byte*>(memory), [bytes](std::byte* mapped) { munmap(mapped, bytes); }};
}

std::optional<std::size_t> SharedArena::place_of(const std::byte* data, std::size_t bytes) const {
  if (memory_ == nullptr) return {};
  const std::byte* mine = at(rank_, 0);
  if (data < mine || data + bytes > mine + part_) return {};
  return static_cast<std::size_t>(data - mine);
}

std::byte* SharedArena::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (taken_ + in_pages(bytes) > part_) return nullptr;
  std::byte* memory = at(rank_, taken_);
  if (!get_pages(file_, memory - memory_, in_pages(bytes))) return nullptr;
  taken_ += in_pages(bytes);
  ++pieces_;
  return memory;
}

void SharedArena::give_back() {
  const std::lock_guard lock(mutex_);
  if (--pieces_ == 0) taken_ = 0;
}

SharedArena::Use::Use(const std::shared_ptr<SharedArena>& arena) { in_use = arena.get(); }

SharedArena::Use::~Use() { in_use = nullptr; }

}  // namespace ddp::dist
