#pragma once

#include <chrono>
#include <string>

#include "launch/process/program.h"

namespace ddp::launch {

// The stacks of a hanging process's threads, from gdb, if it is installed and permitted. That takes seconds; the
// process must live that long.
class NativeStack {
 public:
  explicit NativeStack(pid_t pid);

  // As for Program.
  int output() const { return gdb_.output(); }
  bool read();

  // Ends gdb, which releases the process.
  void end() { gdb_.end(); }

  // Returns whether gdb is done, or has had enough time.
  bool over() const;
  // gdb's whole output; and the first frames of the main thread, one line each, or "".
  const std::string& text() const { return gdb_.text(); }
  std::string main_thread() const;

 private:
  using Clock = std::chrono::steady_clock;

  Program gdb_;
  const Clock::time_point begun_ = Clock::now();
  bool ended_ = false;
};

}  // namespace ddp::launch
