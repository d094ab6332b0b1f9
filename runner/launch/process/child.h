#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/file_descriptor.h"

namespace ddp::launch {

// A forked child: its process, and a descriptor that becomes readable when it ends.
struct Child {
  pid_t pid = -1;
  FileDescriptor pidfd;
};

// The parts of its parent that a child keeps.
struct ChildSetup {
  std::vector<int> descriptors;  // stay open beside 0, 1 and 2; all others are closed
  std::string log = {};          // file for 1 and 2; empty: they go to `output`
  int output = -1;               // descriptor for 1 and 2; none: /dev/null
  bool supervises = false;  // has children of its own. It starts with stop signals blocked, and leads a process group
                            // of its own, so a terminal's signals do not reach it
};

// Forks a child that runs `body` and exits with its result. The child dies with this process, ignores the stop
// signals (only its parent receives them) unless it supervises, has an empty stdin, and keeps only the given
// descriptors. This process must have one thread: a fork copies locks that other threads hold, and nobody would unlock
// them. Throws ddp::Error (training).
Child fork_child(const ChildSetup& setup, const std::function<int()>& body);

// A throw-away child that answers while this process goes on. The destructor kills it.
class AskedChild {
 public:
  // Runs `body` in the child, which keeps the descriptors `kept` and writes its answer to the pipe. `what` names its
  // purpose. Throws ddp::Error (training).
  AskedChild(std::string what, std::vector<int> kept, const std::function<void(int pipe)>& body);
  ~AskedChild();
  AskedChild(const AskedChild&) = delete;
  AskedChild& operator=(const AskedChild&) = delete;

  // Returns what the child wrote, when it has ended; nothing if it has not ended at the deadline. Throws ddp::Error
  // (training) if it does not exit with 0.
  std::optional<std::string> answer(std::optional<std::chrono::steady_clock::time_point> deadline = {});

 private:
  // Waits for more of the answer, or its end; returns false at the deadline.
  bool has_more(std::chrono::steady_clock::time_point deadline) const;

  const std::string what_;
  FileDescriptor said_;  // the child's output, which matters only if the child fails
  FileDescriptor from_;
  std::string text_;  // of the answer, until now
  Child child_;
};

// Asks a throw-away child as above, and waits for its answer.
std::string ask_child(const std::string& what, std::vector<int> kept, const std::function<void(int pipe)>& body);

}  // namespace ddp::launch
