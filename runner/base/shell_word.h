#pragma once

#include <filesystem>
#include <string>

namespace ddp {

// Quotes the text as one word of a shell and of an #SBATCH line. The text must not contain line ends.
std::string shell_word(const std::string& text);

// Quotes the path as one word of a printed command. A path that begins with "-" gets "./", or it would read as an
// option.
std::string path_word(const std::filesystem::path& path);

}  // namespace ddp
