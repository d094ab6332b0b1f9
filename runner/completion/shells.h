#pragma once

#include <filesystem>
#include <string>

namespace ddp::completion {

// The script that teaches a shell, "bash", "zsh" or "fish", to complete ddp-exp: it asks `program` itself.
std::string shell_script(const std::string& shell, const std::filesystem::path& program);

}  // namespace ddp::completion
