// Preloaded into ddp-exp: simulates a kernel without free processes.

#include <sys/types.h>
#include <cerrno>

extern "C" pid_t fork() {
  errno = EAGAIN;
  return -1;
}
