#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/file_descriptor.h"

namespace ddp::launch {

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
