#include "completion/shells.h"

#include "base/embedded.h"
#include "base/error.h"

namespace ddp::completion {

extern const std::span<const EmbeddedFile> kShells;  // from runner/completion/shells

namespace {

constexpr std::string_view kProgram = "@program@";

// Quotes a text as one word for any of the three shells.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

}  // namespace

std::vector<std::string> shells() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : kShells) names.emplace_back(file.name);
  return names;
}

std::string shell_script(const std::string& shell, const std::filesystem::path& program) {
  for (const EmbeddedFile& file : kShells) {
    if (file.name != shell) continue;
    std::string script(file.text);
    return script.replace(script.find(kProgram), kProgram.size(), quoted(program.string()));
  }
  throw usage_error("no completion for \"" + shell + "\"", "", "use bash, zsh or fish");
}

}  // namespace ddp::completion
