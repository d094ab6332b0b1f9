// Preloaded into ddp-exp: simulates a kernel without large free memory. The first DDP_NO_MEMORY_TIMES calls for large
// memory fail. Requests of malloc() do not pass through here.

#include <dlfcn.h>
#include <sys/mman.h>
#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

constexpr std::size_t kLarge = 16u << 20;

bool is_left() {
  static std::atomic<int> left{std::atoi(std::getenv("DDP_NO_MEMORY_TIMES"))};
  return left.fetch_sub(1) > 0;
}

}  // namespace

extern "C" void* mmap(void* address, std::size_t length, int protection, int flags, int descriptor, off_t offset) {
  static const auto real = reinterpret_cast<decltype(&mmap)>(dlsym(RTLD_NEXT, "mmap"));
  const bool memory = (flags & (MAP_PRIVATE | MAP_ANONYMOUS)) == (MAP_PRIVATE | MAP_ANONYMOUS);
  if (memory && protection == (PROT_READ | PROT_WRITE) && length >= kLarge && is_left()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return real(address, length, protection, flags, descriptor, offset);
}
