#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddp::completion {

// Returns bash, zsh and fish.
std::vector<std::string> shells();

// Returns the script with which a shell completes ddp-exp; the script calls `program`. Throws ddp::Error (usage) if the
// shell has none.
std::string shell_script(const std::string& shell, const std::filesystem::path& program);

}  // namespace ddp::completion
