#include "tables/written_number.h"

#include <array>
#include <vector>

namespace ddp::tables {
namespace {

constexpr std::array<std::string_view, 15> kSigns = {"$",   "€",   "£",   "¥",   "%",   "US$", "USD",   "EUR",
                                                     "GBP", "CHF", "JPY", "CNY", "INR", " ",   "\u00a0"};
constexpr std::array<std::string_view, 6> kSeparators = {",", ".", "'", " ", "\u00a0", "\u202f"};

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Removes signs and blanks from both ends. Returns whether there were any.
bool strip_signs(std::string_view& text) {
  const std::size_t before = text.size();
  for (std::size_t size = text.size() + 1; size != text.size();) {
    size = text.size();
    for (const std::string_view sign : kSigns) {
      if (text.starts_with(sign)) text.remove_prefix(sign.size());
      if (text.ends_with(sign)) text.remove_suffix(sign.size());
    }
  }
  return text.size() != before;
}

std::vector<std::string_view> parts_of(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

// Returns the digits of groups such as "1,234,567"; "": the text has no such groups.
std::string without_thousands(std::string_view text, std::string_view separator) {
  const std::vector<std::string_view> groups = parts_of(text, separator);
  const bool begins = is_digits(groups.front()) && groups.front().size() <= 3 && groups.front().front() != '0';
  if (groups.size() < 2 || !begins) return "";
  std::string digits(groups.front());
  for (std::size_t i = 1; i < groups.size(); ++i) {
    if (groups[i].size() != 3 || !is_digits(groups[i])) return "";
    digits += groups[i];
  }
  return digits;
}

// Returns the number without its decimals: digits, perhaps with separators of thousands.
std::string whole_number(std::string_view text, char decimal_sign) {
  if (is_digits(text)) return std::string(text);
  for (const std::string_view separator : kSeparators) {
    if (separator.front() == decimal_sign) continue;
    if (std::string digits = without_thousands(text, separator); !digits.empty()) return digits;
  }
  return "";
}

}  // namespace

WrittenNumber written_number(std::string_view text) {
  const bool has_signs = strip_signs(text);
  std::string minus = text.starts_with('-') ? "-" : "";
  if (!minus.empty() || text.starts_with('+')) text.remove_prefix(1);
  strip_signs(text);  // "-$5"
  const std::size_t mark = text.find_last_of(",.");
  if (mark == std::string_view::npos) {
    const std::string whole = whole_number(text, '\0');
    return {.plain = whole.empty() ? "" : minus + whole, .as_decimal = ""};
  }
  const std::string_view decimals = text.substr(mark + 1);
  const std::string whole = whole_number(text.substr(0, mark), text[mark]);
  const bool is_decimal = !whole.empty() && is_digits(decimals);
  const std::string as_decimal = is_decimal ? minus + whole + "." + std::string(decimals) : "";
  const std::string of_thousands = without_thousands(text, text.substr(mark, 1));
  if (of_thousands.empty() || (is_decimal && text[mark] == '.')) return {.plain = as_decimal, .as_decimal = ""};
  return {.plain = minus + of_thousands, .as_decimal = has_signs ? "" : as_decimal};
}

}  // namespace ddp::tables
