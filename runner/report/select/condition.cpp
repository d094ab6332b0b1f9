#include "report/select/condition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text_number.h"
#include "config/text/source.h"
#include "record/metrics/metric_values.h"
#include "report/select/row.h"

namespace ddp::report {
namespace {

constexpr std::string_view kBlanks = " \t\n";
constexpr std::string_view kComparisonLetters = "<>=!";
constexpr std::array<std::string_view, 7> kComparisons = {"<", "<=", ">", ">=", "=", "==", "!="};
constexpr std::array<std::string_view, 6> kTextKeys = {"run", "kind", "name", "run_id", "status", "started"};

bool is_text_key(const std::string& key) {
  return std::find(kTextKeys.begin(), kTextKeys.end(), key) != kTextKeys.end();
}

bool is_number_key(const std::string& key) {
  const std::vector<std::string> keys = row_keys({});
  if (record::is_metric_name(key)) return true;
  return std::find(keys.begin(), keys.end(), key) != keys.end() && !is_text_key(key);
}

std::optional<double> number_in(std::string_view word) {
  const auto number = text_number<double>(word);
  return number && !std::isnan(*number) ? number : std::nullopt;
}

// Suggests the comparison that a mistyped one probably means.
std::string meant_by(std::string_view comparison) {
  if (comparison == "=<") return "write <=";
  if (comparison == "=>") return "write >=";
  if (comparison == "=!" || comparison == "<>" || comparison == "!") return "write !=";
  return "use one of < <= > >= = !=";
}

class ConditionReader {
 public:
  explicit ConditionReader(const std::string& text) : text_(text) {}

  std::vector<Condition> read() {
    std::vector<Condition> all;
    do {
      all.push_back(read_one());
    } while (take_and());
    return all;
  }

 private:
  Condition read_one() {
    skip_blanks();
    const std::size_t begin = at_;
    Condition condition{.key = std::string(take_until(" \t\n<>=!'\"")), .comparison = "", .value = {}};
    if (condition.key.empty()) fail(begin, "a key is missing", "begin with a key, such as val_loss or optimizer.lr");
    condition.comparison = read_comparison();
    condition.value = read_value(condition.key);
    return condition;
  }

  std::string read_comparison() {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && kComparisonLetters.find(text_[at_]) != kComparisonLetters.npos) ++at_;
    const std::string found = text_.substr(begin, at_ - begin);
    if (found.empty()) {
      fail(begin, "a comparison is missing", "give a key, one of < <= > >= = !=, and a value: --where 'val_loss<0.3'");
    }
    if (std::find(kComparisons.begin(), kComparisons.end(), found) == kComparisons.end()) {
      fail(begin, config::in_quotes(found) + " is not a comparison", meant_by(found));
    }
    return found == "==" ? "=" : found;
  }

  config::Value read_value(const std::string& key) {
    skip_blanks();
    const std::size_t begin = at_;
    const bool quoted = at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"');
    const std::string value = quoted ? read_quoted() : read_word();
    const auto number = quoted ? std::nullopt : number_in(value);
    if (is_number_key(key) && !number) {
      fail(begin, config::in_quotes(key) + " is a number, but " + config::in_quotes(value) + " is not",
           "compare it with a number, without quotes");
    }
    return number && !is_text_key(key) ? config::Value(*number) : config::Value(value);
  }

  std::string read_quoted() {
    const std::size_t begin = at_;
    const std::size_t end = text_.find(text_[begin], begin + 1);
    if (end == std::string::npos) fail(begin, "the text in quotes does not end", "close it with the same quote");
    at_ = end + 1;
    if (at_ < text_.size() && kBlanks.find(text_[at_]) == kBlanks.npos) {
      fail(at_, "something follows the quote", "put \" and \" between two conditions");
    }
    return text_.substr(begin + 1, end - begin - 1);
  }

  std::string read_word() {
    const std::size_t begin = at_;
    const std::string word(take_until(kBlanks));
    if (word.empty() || word == "and") fail(begin, "a value is missing", "give a number, a word, or a text in quotes");
    if (const std::size_t inside = word.find_first_of(kComparisonLetters); inside != std::string::npos) {
      fail(begin + inside, "a value holds " + config::in_quotes(word.substr(inside, 1)),
           "put quotes around the value, or join two conditions with \"and\"");
    }
    return word;
  }

  // Does another condition follow?
  bool take_and() {
    skip_blanks();
    if (at_ == text_.size()) return false;
    const std::size_t begin = at_;
    const std::string word(take_until(kBlanks));
    if (word == "and") return true;
    fail(begin, "expected \"and\" or the end, not " + config::in_quotes(word),
         "join conditions with \"and\"; put quotes around a value of several words");
  }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

  std::string_view take_until(std::string_view letters) {
    const std::size_t begin = std::exchange(at_, std::min(text_.find_first_of(letters, at_), text_.size()));
    return std::string_view(text_).substr(begin, at_ - begin);
  }

  [[noreturn]] void fail(std::size_t at, const std::string& what, const std::string& remedy) const {
    // Continuation bytes of a character do not count.
    const auto characters = std::count_if(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at),
                                          [](unsigned char c) { return (c & 0xC0) != 0x80; });
    throw usage_error(config::in_quotes(text_) + " is not a condition: " + what,
                      "--where, character " + std::to_string(characters + 1), remedy);
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Condition> parse_conditions(const std::string& text) { return ConditionReader(text).read(); }

}  // namespace ddp::report
