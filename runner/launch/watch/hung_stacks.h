#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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

// Asks gdb where ranks hang, before they are killed.
class HungStacks {
 public:
  // Starts gdb, for the first few ranks only, since gdb takes much memory and time. `log`: the rank's, if it is a file
  // of this machine. Returns the stack to read while gdb answers; null if gdb is not asked.
  std::shared_ptr<NativeStack> ask(int rank, pid_t pid, const std::string& log);

  // Returns whether an answer is pending.
  bool waiting() const;
  // Writes each complete stack to its rank's log. Returns one summary for each rank: "rank 1 is in (…)". A rank without
  // a log has its summary also sent to `print`, because it may not be visible anywhere else.
  std::vector<std::string> keep(const std::function<void(const std::string&)>& print);
  // Waits for no more answers. A rank that gdb holds cannot be killed.
  void drop();

 private:
  struct Asked {
    int rank;
    std::string log;
    std::shared_ptr<NativeStack> stack;
  };
  std::vector<Asked> asked_;
};

}  // namespace ddp::launch
