#include "base/shell_word.h"

#include <algorithm>

namespace ddp {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string("_-./,:=+@%").find(c) != std::string::npos;
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

}  // namespace ddp
