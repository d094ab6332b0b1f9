#pragma once

#include <filesystem>

#include "config/value.h"

namespace ddp::launch {

// {"commit": "…", "dirty": false} of the git checkout that the folder is in; null where it is in none, or
// where there is no git. It is asked for while the run trains: git may take longer than a run takes to start.
class GitState {
 public:
  // Starts git. Never throws.
  explicit GitState(const std::filesystem::path& folder);
  ~GitState();
  GitState(const GitState&) = delete;
  GitState& operator=(const GitState&) = delete;

  // Waits for git's answer.
  config::Value result();

 private:
  int pid_ = -1;
  int output_ = -1;
};

}  // namespace ddp::launch
