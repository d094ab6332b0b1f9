#pragma once

#include <filesystem>
#include <string>

namespace ddp {

// The text as one word of a shell, and of an #SBATCH line, whatever is in it but line ends.
std::string shell_word(const std::string& text);

// The path as one word of a printed command: also one that begins with "-", which a command takes for an option.
std::string path_word(const std::filesystem::path& path);

}  // namespace ddp
