#include "datasets/table/value_names.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text_number.h"

namespace ddp::datasets {
namespace {

// A number by its value. Beyond 2^53 a double does not represent every whole number, but its digits do.
struct Number {
  double value = 0;
  std::string digits = {};  // of a number beyond 2^53, or "inf", without the sign
};

template <class... Form>
std::string text_of_double(double value, Form... form) {
  char text[320];  // the greatest double has 309 digits
  const auto end = std::to_chars(text, text + sizeof text, value, form...).ptr;
  return {text, end};
}

std::string digits_of_double(double value) {
  return text_of_double(std::fabs(value), std::chars_format::fixed, /*precision=*/0);
}

// Returns the digits of a whole number without redundant zeros: "120" for "-0120.00"; "" for any other notation.
std::string whole_digits(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.find('.') != std::string_view::npos) {
    text = text.substr(0, text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.remove_suffix(1);
  }
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  return text.find_first_not_of("0123456789") == std::string_view::npos ? std::string(text) : "";
}

// Is it written like 007 or -01.5?
bool has_leading_zero(std::string_view number) {
  if (number.starts_with('-')) number.remove_prefix(1);
  return number.size() > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9';
}

std::optional<double> value_of(std::string_view text, Equal equal) {
  if (equal == Equal::numbers) return is_out_of_range(text) ? std::nullopt : parse_number(text);
  const auto value = text_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<Number> number_in(std::string_view text, Equal equal) {
  if (equal == Equal::numbers) text = without_blanks(text);
  const std::string_view unsigned_text = text.substr(text.starts_with('+'));
  const auto value = value_of(equal == Equal::numbers ? text : unsigned_text, equal);
  if (!value || (equal != Equal::numbers_of_version_1 && has_leading_zero(unsigned_text))) return {};
  if (std::fabs(*value) < kWholeNumbers) return Number{.value = *value == 0 ? 0.0 : *value};  // -0 is 0
  if (std::isinf(*value)) return Number{.value = *value, .digits = "inf"};
  std::string digits = whole_digits(unsigned_text);
  return Number{.value = *value, .digits = digits.empty() ? digits_of_double(*value) : std::move(digits)};
}

// Returns the digits of a whole number, or the shortest text that reads as the number.
std::string text_of(const Number& number) {
  if (!number.digits.empty()) return (number.value < 0 ? "-" : "") + number.digits;
  if (std::trunc(number.value) == number.value) return std::to_string(static_cast<std::int64_t>(number.value));
  return text_of_double(number.value);
}

bool is_less(const Number& a, const Number& b) {
  if (a.value != b.value) return a.value < b.value;
  const auto size = [](const Number& number) { return std::tuple(number.digits.size(), number.digits); };
  return a.value < 0 ? size(b) < size(a) : size(a) < size(b);
}

bool are_numbers(const std::vector<std::string>& names, Equal equal) {
  return std::all_of(names.begin(), names.end(), [&](const auto& name) { return number_in(name, equal).has_value(); });
}

}  // namespace

ValueNames::ValueNames(std::vector<std::string> names, Equal equal)
    : equal_(equal), numeric_(equal != Equal::bytes && are_numbers(names, equal)) {
  for (const std::string& name : names) {
    const std::string text = numeric_ ? text_of(*number_in(name, equal)) : name;
    add(text, equal == Equal::numbers_of_version_1 ? name : text);
  }
}

ValueNames ValueNames::sorted(Equal equal) const {
  std::vector<std::string> names = names_;
  std::sort(names.begin(), names.end());
  if (are_numbers(names, equal)) {
    std::stable_sort(names.begin(), names.end(),
                     [&](const auto& a, const auto& b) { return is_less(*number_in(a, equal), *number_in(b, equal)); });
  }
  return ValueNames(std::move(names), equal);
}

void ValueNames::add(std::string_view text) { add(text, text); }

void ValueNames::add(std::string_view text, std::string_view name) {
  if (numbers_.find(text) != numbers_.end()) return;
  numbers_.emplace(text, size());
  names_.emplace_back(name);
}

std::int64_t ValueNames::find(std::string_view text) const {
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  if (!numeric_) return -1;
  const auto value = number_in(text, equal_);
  if (!value) return -1;
  const auto known = numbers_.find(text_of(*value));
  return known == numbers_.end() ? -1 : known->second;
}

}  // namespace ddp::datasets
