#pragma once

#include <string>

#include "base/error.h"

namespace ddp::launch {

// A command that leaves no files was stopped by a signal.
class Stopped : public Error {
 public:
  // `code`: the exit code, see exit_code_of; `what`: the message.
  explicit Stopped(int code, const std::string& what = "stopped by a signal; no file was written")
      : Error(Fault::training, what), code_(code) {}

  int code() const { return code_; }

 private:
  int code_;
};

}  // namespace ddp::launch
