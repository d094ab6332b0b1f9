#pragma once

#include <sys/types.h>
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace ddp::launch {

// A pipe within this process; started programs do not inherit its ends.
struct Pipe {
  FileDescriptor from;
  FileDescriptor to;
};

// `reads_wait`: a read blocks until data come; otherwise it fails with EAGAIN. Throws ddp::Error (training).
Pipe make_pipe(bool reads_wait = true);

// Returns the path of a program: the name itself if it contains a "/", else the first match in PATH; "" if none exists.
std::string program_file(const std::string& program);

// Starts a program with an empty stdin, no blocked signals, and its output in these descriptors. `err` -1: its stderr
// is discarded. Returns its process; -1 with errno if it cannot be started.
pid_t spawn(const std::vector<std::string>& command, int out, int err);

// A program that answers a question while ranks train. Its output is read as it comes; the destructor ends the program.
class Program {
 public:
  // Starts the program if it exists. Its stderr is discarded. Throws ddp::Error (training) if no descriptor is left.
  explicit Program(const std::vector<std::string>& command);
  ~Program() { end(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The program's stdout. When it is readable, read() takes some data and returns whether more may come. The call that
  // finds the end also reaps the process, so no zombie stays.
  int output() const { return output_.get(); }
  bool read();
  bool runs() const { return pid_ > 0; }
  // Kills the program if it has not ended.
  void end();
  // The output so far.
  const std::string& text() const { return text_; }

 private:
  pid_t pid_ = -1;
  FileDescriptor output_;
  std::string text_;
};

}  // namespace ddp::launch
