#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/file_descriptor.h"

namespace ddp::launch {

// Starts a program that reads nothing, hears all signals, and writes to these descriptors; `err` -1: what it says there
// is lost. Returns its process; -1 where it cannot be started, with errno.
pid_t spawn(const std::vector<std::string>& command, int out, int err);

// A program that is asked something while ranks train: what it prints is read as it comes, and it is ended with this.
class Program {
 public:
  // Starts it, where there is one of that name. What it says on stderr is lost. Throws ddp::Error (training) where no
  // descriptor is left.
  explicit Program(const std::vector<std::string>& command);
  ~Program() { end(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Where its answer comes from. When there is some to read, read() takes it, and returns whether there is more to
  // come: who watches it leaves no zombie.
  int output() const { return output_.get(); }
  bool read();
  // Ends it now, if it has not ended.
  void end();
  // What came so far.
  const std::string& text() const { return text_; }

 private:
  pid_t pid_ = -1;
  FileDescriptor output_;
  std::string text_;
};

}  // namespace ddp::launch
