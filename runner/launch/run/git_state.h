#pragma once

#include <filesystem>
#include <string>

#include "config/value.h"
#include "launch/process/program.h"

namespace ddp::launch {

// {"commit": "…", "dirty": false} of the git checkout that contains the folder; null if it is in no checkout, or git is
// not installed. The answer is read while the run trains, because git may take longer than the start of a run.
class GitState {
 public:
  // Starts git, if it is installed. Throws ddp::Error (training) if no descriptor is left.
  explicit GitState(const std::filesystem::path& folder);

  int output() const { return git_.output(); }
  bool read() { return git_.read(); }
  // Waits briefly for the rest of git's answer; null if it does not come.
  config::Value result();

 private:
  Program git_;
};

}  // namespace ddp::launch
