#include "tables/unusual_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "config/check/phrases.h"
#include "config/text/source.h"
#include "tables/written_number.h"

namespace ddp::tables {
namespace {

constexpr std::array kMissingMarks = {"",    "n/a", "#n/a", "na", "nan", "null", "none",
                                      "nil", "?",   "-",    "--", ".",   "\\n",  "missing"};
constexpr std::array kTruths = {"true", "false", "yes", "no"};

template <class Words>
bool is_one_of(const Words& words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool are_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

// Returns the two places of the sign; nothing if it stands there more or less often.
std::optional<std::pair<std::size_t, std::size_t>> two_places(std::string_view text, char sign) {
  const std::size_t first = text.find(sign);
  const std::size_t second = text.rfind(sign);
  if (first == second || text.find(sign, first + 1) != second) return {};
  return std::pair(first, second);
}

std::string_view last_digits(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && is_digit(text[text.size() - 1 - size])) ++size;
  return text.substr(text.size() - size);
}

std::string_view first_digits(std::string_view text) {
  return text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
}

// Are these a day, a month and a year, in any order that people write?
bool are_day_month_year(std::string_view first, std::string_view second, std::string_view third) {
  constexpr int kDays = 31;
  constexpr int kMonths = 12;
  const auto number = [](std::string_view digits) {
    return digits.empty() || digits.size() > 4 ? 0 : std::stoi(std::string(digits));
  };
  const auto are_day_and_month = [&](std::string_view one, std::string_view other) {
    const auto [less, more] = std::minmax({number(one), number(other)});
    return one.size() <= 2 && other.size() <= 2 && less >= 1 && less <= kMonths && more <= kDays;
  };
  const auto is_year = [](std::string_view digits) { return digits.size() == 4 || digits.size() == 2; };
  return (is_year(third) && are_day_and_month(first, second)) || (is_year(first) && are_day_and_month(second, third));
}

// "2020-11-14", "14.11.2020 10:00", "11/14/20": numbers with two signs between them.
bool is_date(std::string_view text) {
  if (text.empty() || !is_digit(text.front())) return false;
  if (text.find_first_not_of("0123456789-/.:TZ +") != std::string_view::npos) return false;
  for (const char sign : {'-', '/', '.'}) {
    const auto at = two_places(text, sign);
    if (!at) continue;
    const auto [first, second] = *at;
    const std::string_view middle = text.substr(first + 1, second - first - 1);
    return are_digits(middle) &&
           are_day_month_year(last_digits(text.substr(0, first)), middle, first_digits(text.substr(second + 1)));
  }
  return false;
}

// Returns the advice for "4.560.10", a number with a point of thousands and a decimal point; "": it is not.
std::string advice_for_two_points(std::string_view cell) {
  const auto at = two_places(cell, '.');
  if (!at) return "";
  const std::string_view thousands = cell.substr(0, at->first);
  const std::string_view rest = cell.substr(at->first + 1, at->second - at->first - 1);
  const std::string_view decimals = cell.substr(at->second + 1);
  const std::string_view digits = thousands.starts_with('-') ? thousands.substr(1) : thousands;
  if (!are_digits(digits) || digits.size() > 3 || rest.size() != 3 || !are_digits(rest) || !are_digits(decimals)) {
    return "";
  }
  const std::string written = std::string(thousands) + std::string(rest) + "." + std::string(decimals);
  return "in place of " + config::in_quotes(cell) + " write " + written + ": remove the points that separate thousands";
}

// Returns the advice for a number with signs that are no part of it; "": the text is no such number.
std::string advice_for_number(std::string_view cell) {
  const WrittenNumber number = written_number(cell);
  if (number.plain.empty()) return "";
  const std::string written = config::in_quotes(cell);
  if (!number.as_decimal.empty()) {
    return "in place of " + written + " write " + number.plain + " if the comma separates thousands, or " +
           number.as_decimal + " if it is a decimal comma";
  }
  if (config::is_decimal_comma(cell)) {
    return "remove points that separate thousands, if there are any, then write decimal points in place of decimal "
           "commas";
  }
  return "in place of " + written + " write " + number.plain +
         ", without signs of money and percent and without separators of thousands";
}

}  // namespace

Advice advice_for(std::string_view cell, const std::string& if_mark) {
  std::string lower(cell);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (is_one_of(kMissingMarks, lower)) return {if_mark};
  if (is_one_of(kTruths, lower)) return {"write 1 and 0 for such words, or name it in dataset.categories"};
  if (std::string advice = advice_for_number(cell); !advice.empty()) return {std::move(advice), /*is_number=*/true};
  if (std::string advice = advice_for_two_points(cell); !advice.empty()) return {std::move(advice), /*is_number=*/true};
  if (is_date(cell)) {
    return {"turn dates into numbers first, such as days since a first day, or a year and a month",
            /*is_number=*/true};
  }
  return {};
}

}  // namespace ddp::tables
