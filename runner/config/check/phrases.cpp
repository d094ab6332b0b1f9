#include "config/check/phrases.h"

#include <algorithm>

#include "config/option/text_form.h"

namespace ddp::config {
namespace {

std::string joined(const std::vector<std::string>& parts, const std::string& between_two) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between_two) + part;
  return text;
}

std::string number(double value) {
  return value == static_cast<double>(static_cast<long long>(value)) ? std::to_string(static_cast<long long>(value))
                                                                     : Value(value).dump();
}

std::string bounds(const Range& range) {
  const std::string low = range.minimum ? number(*range.minimum) : "";
  const std::string high = range.maximum ? number(*range.maximum) : "";
  if (range.minimum && range.maximum) {
    return (range.minimum_excluded ? " above " : " from ") + low + (range.maximum_excluded ? " to below " : " to ") +
           high;
  }
  if (range.minimum) return (range.minimum_excluded ? " above " : " of at least ") + low;
  if (range.maximum) return (range.maximum_excluded ? " below " : " of at most ") + high;
  return "";
}

std::string expected_text(const Option& option) {
  if (!option.form.empty()) return text_form(option.form).in_words;
  if (option.choices.empty()) return "a text";
  std::vector<std::string> choices;
  // The empty choice stands for "not given"; users need not write it.
  for (const std::string& choice : option.choices) {
    if (!choice.empty()) choices.push_back("\"" + choice + "\"");
  }
  for (const std::string& prefix : option.numbered) choices.push_back("\"" + prefix + "N\" with a number for N");
  return "one of " + joined(choices, ", ");
}

std::string expected_list(const Option& option) {
  if (!option.variants.empty()) return "a list of tables, each with a \"type\"";
  if (!option.form.empty() && !option.item) {
    return "a list, each an integer" + bounds(option.range) + " or " + text_form(option.form).in_words;
  }
  const std::string length = option.length ? std::to_string(*option.length) + " " : "";
  if (!option.item) return length.empty() ? "a list" : "a list of " + length + "values";
  switch (*option.item) {
    case Type::boolean:
      return "a list of " + length + "booleans";
    case Type::integer:
      return "a list of " + length + "integers" + bounds(option.range);
    case Type::number:
      return "a list of " + length + "numbers" + bounds(option.range);
    case Type::text:
      return "a list of " + length + "texts" + (option.choices.empty() ? "" : ", each " + expected_text(option));
    case Type::list:
      return "a list of " + length + "lists";
    case Type::table:
      return "a list of " + length + "tables";
  }
  return "";
}

std::string expected(const Option& option, Type type) {
  switch (type) {
    case Type::boolean:
      return "true or false";
    case Type::integer:
      return "an integer" + bounds(option.range);
    case Type::number:
      return "a number" + bounds(option.range);
    case Type::text:
      return option.component_kind.empty() ? expected_text(option) : "a name";
    case Type::list:
      return expected_list(option);
    case Type::table:
      return option.component_kind.empty() ? "a table" : "a table with a name";
  }
  return "";
}

}  // namespace

std::string expected(const Option& option) {
  std::vector<std::string> parts;
  for (Type type : option.types) parts.push_back(expected(option, type));
  return joined(parts, " or ");
}

bool is_decimal_comma(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return false;
  const auto is_digits = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return is_digits(text.substr(0, comma)) && is_digits(text.substr(comma + 1));
}

std::vector<std::string> names_of(const std::vector<Option>& options) {
  std::vector<std::string> names;
  for (const Option& option : options) names.push_back(option.name);
  return names;
}

std::vector<std::string> names_of(const std::vector<Spec>& specs) {
  std::vector<std::string> names;
  for (const Spec& spec : specs) names.push_back(spec.name);
  return names;
}

}  // namespace ddp::config
