#include "config/check/phrases.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

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

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The number of insertions, deletions, replacements and swaps of neighbours that turn one text into the other (optimal
// string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before_last, last, row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::move(last);
    last = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// Returns the first letter of each word: "dp" for "data_parallel".
std::string initials(const std::string& name) {
  std::string letters;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (i == 0 || name[i - 1] == '_') letters += name[i];
  }
  return letters;
}

// Returns the shortest candidate that begins with `name`, or else the one whose words have these first letters; empty
// if no candidate does.
std::string shortened(const std::string& name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kShortestBeginning = 3;
  const std::string given = lower(name);
  std::string longer;
  std::string words;
  for (const std::string& candidate : candidates) {
    const std::string whole = lower(candidate);
    if (given == whole) return candidate;
    const bool begins = given.size() >= kShortestBeginning && whole.starts_with(given);
    if (begins && (longer.empty() || candidate.size() < longer.size())) longer = candidate;
    if (words.empty() && given.size() > 1 && initials(whole) == given) words = candidate;
  }
  return longer.empty() ? words : longer;
}

}  // namespace

std::string expected(const Option& option) {
  std::vector<std::string> parts;
  for (Type type : option.types) parts.push_back(expected(option, type));
  return joined(parts, " or ");
}

std::string nearest(const std::string& name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 64;
  if (name.size() > kLongest) return "";
  std::string best = shortened(name, candidates);
  if (!best.empty()) return best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    const std::size_t shorter = std::min(name.size(), candidate.size());
    // At most a third of the letters may differ; otherwise short names match everything.
    if (3 * (longer - shorter) > longer + 1) continue;
    const std::size_t distance = edit_distance(lower(name), lower(candidate));
    if (3 * distance > longer + 1) continue;
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string nearest_file(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string ending = std::filesystem::path(name).extension().string();
  std::vector<std::string> stems;
  std::vector<std::string> others;
  for (const std::string& candidate : candidates) {
    const bool is_same_kind = std::filesystem::path(candidate).extension() == ending;
    if (is_same_kind) stems.push_back(candidate.substr(0, candidate.size() - ending.size()));
    if (!is_same_kind) others.push_back(candidate);
  }
  const std::string stem = nearest(name.substr(0, name.size() - ending.size()), stems);
  return stem.empty() ? nearest(name, others) : stem + ending;
}

std::string suggestion(const std::string& name, const std::vector<std::string>& candidates, const std::string& what) {
  if (const std::string near = nearest(name, candidates); !near.empty()) return "did you mean \"" + near + "\"?";
  return what + ": " + (candidates.empty() ? "none" : joined(candidates, ", "));
}

std::string with_word(const std::string& name, const std::vector<std::string>& candidates) {
  const auto has = [](const std::string& words, const std::string& word) {
    return ("_" + words + "_").find("_" + word + "_") != std::string::npos;
  };
  auto found = std::find_if(candidates.begin(), candidates.end(), [&](const auto& one) { return has(one, name); });
  if (found == candidates.end()) {
    found = std::find_if(candidates.begin(), candidates.end(), [&](const auto& one) { return has(name, one); });
  }
  return found == candidates.end() ? "" : *found;
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
