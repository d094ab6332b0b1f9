#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddp::launch {

// A finished command: its exit code (128 + the signal that ended it), and its whole output.
struct Ended {
  int code = 0;
  std::string output;
};

// Runs commands concurrently, at most one per core, and returns their results in order. Their temporary files go to
// `temporary`. If this process receives a stop signal, kills them with all their children and throws Stopped. Throws
// ddp::Error (training) if a command cannot be started.
std::vector<Ended> run_commands(const std::vector<std::vector<std::string>>& commands,
                                const std::filesystem::path& temporary);

}  // namespace ddp::launch
