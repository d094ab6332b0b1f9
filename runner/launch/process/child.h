#pragma once

#include <functional>
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

// What a child keeps of its parent.
struct ChildSetup {
  std::vector<int> descriptors;  // stay open beside 0, 1 and 2; all others are closed
  std::string log = {};          // the file that 1 and 2 go to; empty: to `output`
  int output = -1;               // the descriptor that they go to; none: to /dev/null
  bool supervises = false;  // has children of its own: stop signals wait until it listens, and those that a terminal
                            // sends do not reach it
};

// Forks a child that runs `body` and exits with what it returns. The child dies with this process, hears no
// INT, TERM or USR2 (its parent alone does) unless it supervises, reads nothing, and holds no descriptors but those
// given. This process must have one thread: a fork copies locks that other threads hold, locked for ever. Throws
// ddp::Error (training).
Child fork_child(const ChildSetup& setup, const std::function<int()>& body);

// Runs `body` in a throw-away child, in which the descriptors `kept` stay open, and returns what it wrote to the
// descriptor it was given. Throws
// ddp::Error (training) where the child does not end with 0; `what` says what it was for.
std::string ask_child(const std::string& what, std::vector<int> kept, const std::function<void(int pipe)>& body);

}  // namespace ddp::launch
