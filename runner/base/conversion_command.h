#pragma once

#include <filesystem>
#include <string>

namespace ddp {

// Returns the shell's command that writes a copy of a text file in UTF-8, beside it. `from`: the file's encoding, as
// iconv names it.
std::string conversion_command(const std::filesystem::path& file, const std::string& from);

}  // namespace ddp
