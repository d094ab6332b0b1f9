#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddp::launch {

// A command that has ended: its exit code (128 + the signal that ended it), and all that it printed.
struct Ended {
  int code = 0;
  std::string output;
};

// Runs commands, as many side by side as there are cores, and returns how they ended, in their order. Their temporary
// files go to `temporary`. Where this process is asked to stop, they are ended, with all that they have started: throws
// Stopped. Throws ddp::Error (training) where none can be started.
std::vector<Ended> run_commands(const std::vector<std::vector<std::string>>& commands,
                                const std::filesystem::path& temporary);

}  // namespace ddp::launch
