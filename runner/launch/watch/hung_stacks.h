#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch/watch/native_stack.h"

namespace ddp::launch {

// Asks gdb where ranks hang, before they are ended.
class HungStacks {
 public:
  // Begins to ask; of the first few only, since gdb takes much memory and time. `log`: the rank's, where it is a file
  // of this machine. Returns what is to be read while it answers; null where it is not asked.
  std::shared_ptr<NativeStack> ask(int rank, pid_t pid, const std::string& log);

  // Is an answer still to come?
  bool waiting() const;
  // Each stack whole goes to its rank's log; returns what to say, an item a rank: "rank 1 is in (…)". Where there is no
  // log, that may be all that is ever seen of it: it goes to `print` too.
  std::vector<std::string> keep(const std::function<void(const std::string&)>& print);
  // No answer is waited for any more. A rank that gdb holds cannot be ended.
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
