#include "tables/unusual_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "config/check/phrases.h"
#include "config/text/source.h"
#include "tables/written_number.h"

namespace ddp::tables {
namespace {

constexpr std::array kMissingMarks = {"n/a", "#n/a", "na", "nan", "null", "none",   "nil",
                                      "?",   "-",    "--", ".",   "\\n",  "missing"};
constexpr std::array kTruths = {"true", "false", "yes", "no"};

template <class Words>
bool is_one_of(const Words& words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// "2020-11-14", "14.11.2020 10:00", "11/14/20": numbers with two signs between them.
bool is_date(std::string_view text) {
  const auto count = [&](std::string_view of) {
    return std::count_if(text.begin(), text.end(), [&](char c) { return of.find(c) != std::string_view::npos; });
  };
  const bool begins = !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0;
  return begins && count("0123456789") >= 4 && std::max({count("-"), count("/"), count(".")}) == 2 &&
         text.find_first_not_of("0123456789-/.:TZ +") == std::string_view::npos;
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
  if (config::is_decimal_comma(cell)) return "write decimal points in place of decimal commas";
  return "in place of " + written + " write " + number.plain +
         ", without signs of money and percent and without separators of thousands";
}

}  // namespace

Advice advice_for(std::string_view cell) {
  std::string lower(cell);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (is_one_of(kMissingMarks, lower)) {
    return {"a missing cell is empty, or one of NA, NaN, nan, null, None: write one of these for such a mark"};
  }
  if (is_one_of(kTruths, lower)) return {"write 1 and 0 for such words, or name it in dataset.categories"};
  if (std::string advice = advice_for_number(cell); !advice.empty()) return {std::move(advice), /*is_number=*/true};
  if (is_date(cell)) {
    return {"turn dates into numbers first, such as days since a first day, or a year and a month",
            /*is_number=*/true};
  }
  return {};
}

}  // namespace ddp::tables
