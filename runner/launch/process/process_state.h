#pragma once

#include <sys/types.h>

namespace ddp::launch {

// A process as /proc tells it.
struct ProcessState {
  bool stopped = false;     // by SIGSTOP or a debugger
  long processor_time = 0;  // that it has used, all threads, in clock ticks
};

// Of one that is gone: as it is made.
ProcessState state_of(pid_t pid);

}  // namespace ddp::launch
