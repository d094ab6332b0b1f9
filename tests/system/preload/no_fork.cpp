// Preloaded into ddp-exp, a kernel that has no process left.

#include <sys/types.h>
#include <cerrno>

extern "C" pid_t fork() {
  errno = EAGAIN;
  return -1;
}
