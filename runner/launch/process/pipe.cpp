#include "launch/process/pipe.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>

#include "base/error.h"

namespace ddp::launch {

Pipe make_pipe(bool reads_wait) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw training_error("cannot make a pipe: " + errno_text(errno));
  if (!reads_wait) fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {.from = FileDescriptor(ends[0]), .to = FileDescriptor(ends[1])};
}

}  // namespace ddp::launch
