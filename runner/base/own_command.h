#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddp {

// The environment variable by which a starting script passes on its own name, as the user called it.
inline constexpr const char* kCalledAs = "DDP_EXP_CALLED_AS";

// Stores the name by which this program was called: kCalledAs if a script set it, else `argv0`. Each program calls this
// function once, at its start.
void remember_call(const char* argv0);

// Returns a command of this program for the same shell: "scripts/ddp-exp resume basic" if it was called as
// scripts/ddp-exp, "ddp-exp resume basic" if the shell found it on PATH.
std::string own_command(const std::string& arguments);

// Returns a command of the checkout's script, which fetches and builds: "scripts/ddp-exp --setup-only".
std::string setup_command(const std::string& arguments);

// Quotes the text as one word of a shell and of an #SBATCH line. The text must not contain line ends.
std::string shell_word(const std::string& text);

// Quotes the path as one word of a printed command. A path that begins with "-" gets "./", or it would read as an
// option.
std::string path_word(const std::filesystem::path& path);

// Returns the command with these --set, quoted for a shell. A set that begins with "~" removes a key (--unset).
std::string with_sets(std::string command, const std::vector<std::string>& sets);

}  // namespace ddp
