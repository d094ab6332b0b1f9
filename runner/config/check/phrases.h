#pragma once

#include <string_view>

#include "config/check/check.h"
#include "config/suggest.h"

namespace ddp::config {

// Is this a number with a decimal comma, such as "-0,1"?
inline bool is_decimal_comma(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return false;
  const auto is_digits = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return is_digits(text.substr(0, comma)) && is_digits(text.substr(comma + 1));
}

}  // namespace ddp::config
