#pragma once

#include <string>
#include <string_view>

namespace ddp::config {

// Characters that word processors and web pages write in place of those of the keyboard: “ ” „ « » ‘ ’ ‚ as quotes, and
// the minus sign and the dashes as "-".

// Returns whether the text begins with a typographic quote.
bool begins_with_typographic_quote(std::string_view text);

// Returns the text with the characters of the keyboard; both kinds of quotes become ". Without such characters the text
// is unchanged.
std::string with_keyboard_characters(std::string_view text);

}  // namespace ddp::config
