#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddp::completion {

// bash, zsh, fish.
std::vector<std::string> shells();

// The script that teaches a shell to complete ddp-exp: it asks `program` itself. Throws ddp::Error
// (usage) where there is none.
std::string shell_script(const std::string& shell, const std::filesystem::path& program);

}  // namespace ddp::completion
