#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch/watch/native_stack.h"

namespace ddp::launch {

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
