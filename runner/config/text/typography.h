#pragma once

#include <string>
#include <string_view>

namespace ddp::config {

// Word processors and web pages write some characters of the keyboard in another form: quotes as “ ” „ « » ‘ ’ ‚, and
// "-" as a minus sign or a dash.

// Returns whether the text begins with a typographic quote.
bool begins_with_typographic_quote(std::string_view text);

// Returns the text with the characters of the keyboard; both kinds of quotes become ". Without such characters the text
// is unchanged.
std::string with_keyboard_characters(std::string_view text);

}  // namespace ddp::config
