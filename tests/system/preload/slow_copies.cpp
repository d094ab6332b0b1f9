// Preloaded into ddp-exp: simulates slow memory for all threads but the first. Each of their large copies takes 20 ms
// more.

#include <dlfcn.h>
#include <unistd.h>
#include <cstring>

namespace {
constexpr std::size_t kLarge = 1u << 20;
}

extern "C" void* memcpy(void* to, const void* from, std::size_t size) noexcept {
  static const auto real = reinterpret_cast<void* (*)(void*, const void*, std::size_t)>(dlsym(RTLD_NEXT, "memcpy"));
  if (size >= kLarge && gettid() != getpid()) usleep(20000);
  return real(to, from, size);
}
