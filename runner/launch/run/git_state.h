#pragma once

#include <filesystem>
#include <string>

#include "config/value.h"
#include "launch/process/program.h"

namespace ddp::launch {

// {"commit": "…", "dirty": false} of the git checkout that the folder is in; null where it is in none, or
// where there is no git. It is asked for while the run trains: git may take longer than a run takes to start.
class GitState {
 public:
  // Starts git, where there is one. Throws ddp::Error (training) where no descriptor is left.
  explicit GitState(const std::filesystem::path& folder);

  int output() const { return git_.output(); }
  bool read() { return git_.read(); }
  // Waits a moment for the rest of git's answer; null where it does not come.
  config::Value result();

 private:
  Program git_;
};

}  // namespace ddp::launch
