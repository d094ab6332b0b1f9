#include "base/own_command.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/url.h"

namespace ddp {
namespace fs = std::filesystem;
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string("_-./,:=+@%").find(c) != std::string::npos;
}

std::string called_as = "ddp-exp";
bool called_by_script = false;

// Returns whether a shell would find this program by its name: the shell then gives a script its full path.
bool is_found_on_path(const fs::path& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code unreadable;
    if (fs::path candidate = fs::path(folder) / program.filename(); fs::exists(candidate, unreadable)) {
      return candidate == program;
    }
  }
  return false;
}

}  // namespace

std::string shell_word(const std::string& text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string path_word(const std::filesystem::path& path) {
  const std::string text = path.string();
  return shell_word(text.starts_with('-') ? "./" + text : text);
}

void remember_call(const char* argv0) {
  const char* script = std::getenv(kCalledAs);
  called_by_script = script != nullptr && *script != '\0';
  const fs::path program = called_by_script ? script : argv0 != nullptr && *argv0 != '\0' ? argv0 : "ddp-exp";
  called_as = path_word(is_found_on_path(program) ? program.filename() : program);
  unsetenv(kCalledAs);  // programs that this one starts have other names
}

std::string own_command(const std::string& arguments) { return called_as + " " + arguments; }

std::string setup_command(const std::string& arguments) {
  return (called_by_script ? called_as : "scripts/ddp-exp") + " " + arguments;
}

std::string with_sets(std::string command, const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    // "--name name=\"mine\"" stands for the option that sets a key (config::assignment_of_option).
    const std::size_t key = set.starts_with("--") ? set.find(' ') + 1 : 0;
    command += set.starts_with('~') ? " --unset " + shell_word(set.substr(1))
                                    : " --set " + shell_word(without_queries(set.substr(key)));
  }
  return command;
}

}  // namespace ddp
