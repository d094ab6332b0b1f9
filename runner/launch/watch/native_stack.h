#pragma once

#include <chrono>
#include <string>

#include "launch/process/program.h"

namespace ddp::launch {

// Where a process hangs: the stacks of its threads, as gdb tells them, if there is one and it may look. That takes
// seconds; the process must live so long.
class NativeStack {
 public:
  explicit NativeStack(pid_t pid);

  // As Program's.
  int output() const { return gdb_.output(); }
  bool read();

  // Ends gdb, which lets go of the process.
  void end() { gdb_.end(); }

  // Is gdb done, or has it had time enough?
  bool over() const;
  // All that gdb said; and the first frames of the main thread, a line each, or "".
  const std::string& text() const { return gdb_.text(); }
  std::string main_thread() const;

 private:
  using Clock = std::chrono::steady_clock;

  Program gdb_;
  const Clock::time_point begun_ = Clock::now();
  bool ended_ = false;
};

}  // namespace ddp::launch
