#pragma once

#include <string_view>

namespace ddp::config {

// Returns the text without the blanks at its beginning and its end.
inline std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return text.substr(text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace ddp::config
