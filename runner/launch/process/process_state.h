#pragma once

#include <sys/types.h>

namespace ddp::launch {

// The state of a process, from /proc.
struct ProcessState {
  bool stopped = false;     // by SIGSTOP or a debugger
  long processor_time = 0;  // used by all threads, in clock ticks
};

// Returns a default state if the process is gone.
ProcessState state_of(pid_t pid);

}  // namespace ddp::launch
