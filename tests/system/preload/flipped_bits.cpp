// Preloaded into ddp-exp: simulates a network that flips one bit, in the middle of each large message. Gloo writes to
// its sockets with writev.

#include <dlfcn.h>
#include <sys/uio.h>
#include <string>
#include <vector>

namespace {
constexpr std::size_t kLarge = 4096;
}

extern "C" ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto real = reinterpret_cast<decltype(&writev)>(dlsym(RTLD_NEXT, "writev"));
  std::vector<iovec> sent(parts, parts + count);
  std::string changed;
  iovec& last = sent.back();
  if (last.iov_len >= kLarge) {
    changed.assign(static_cast<const char*>(last.iov_base), last.iov_len);
    changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
    last.iov_base = changed.data();
  }
  return real(descriptor, sent.data(), count);
}
