#pragma once

#include <filesystem>
#include <string>

#include "base/file_descriptor.h"
#include "config/value.h"

namespace ddp::launch {

// {"commit": "…", "dirty": false} of the git checkout that the folder is in; null where it is in none, or
// where there is no git. It is asked for while the run trains: git may take longer than a run takes to start.
class GitState {
 public:
  // Starts git, where there is one. Throws ddp::Error (training) where no descriptor is left.
  explicit GitState(const std::filesystem::path& folder);
  ~GitState();
  GitState(const GitState&) = delete;
  GitState& operator=(const GitState&) = delete;

  // Where git's answer comes from. When there is some to read, read() takes it, and returns whether there is more to
  // come: who watches it leaves no zombie of git.
  int output() const { return output_.get(); }
  bool read();
  // Waits a moment for the rest of git's answer; null where it does not come.
  config::Value result();

 private:
  std::string text_;
  int pid_ = -1;
  FileDescriptor output_;
};

}  // namespace ddp::launch
