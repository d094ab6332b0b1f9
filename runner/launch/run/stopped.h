#pragma once

#include <string>

#include "base/error.h"

namespace ddp::launch {

// A signal asked a command to stop that leaves nothing behind then.
class Stopped : public Error {
 public:
  // `code`: the exit code, see exit_code_of. `what`: what to say of it.
  explicit Stopped(int code, const std::string& what = "stopped by a signal; no file was written")
      : Error(Fault::training, what), code_(code) {}

  int code() const { return code_; }

 private:
  int code_;
};

}  // namespace ddp::launch
