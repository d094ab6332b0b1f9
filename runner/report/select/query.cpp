#include "report/select/query.h"

#include <fnmatch.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text_number.h"
#include "config/suggest.h"
#include "config/experiment.h"
#include "config/text/source.h"
#include "record/metrics/metric_values.h"
#include "record/run_directory.h"
#include "report/read/summary_view.h"
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
      fail(begin, config::in_quotes(found) + " is not a comparison", "use one of < <= > >= = !=");
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

namespace {

using config::Value;

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string as_text(const Value& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// Returns less than 0 if the first is less; compares numbers as numbers and all else as text.
int compare(const Value& first, const Value& second) {
  if (first.is_number() && second.is_number()) {
    const auto a = first.get<double>();
    const auto b = second.get<double>();
    return a < b ? -1 : a > b ? 1 : 0;
  }
  if (first.is_string() && second.is_string()) {
    return first.get_ref<const std::string&>().compare(second.get_ref<const std::string&>());
  }
  return as_text(first).compare(as_text(second));
}

bool same_kind(const Value& first, const Value& second) { return first.is_number() == second.is_number(); }

bool holds(const Condition& condition, const Row& row) {
  const Value value = value_of(row, condition.key);
  if (value.is_null()) return false;
  const std::string& how = condition.comparison;
  // A number is never less than a text.
  if (condition.orders() && !same_kind(value, condition.value)) return false;
  const int order = compare(value, condition.value);
  if (how == "=") return order == 0;
  if (how == "!=") return order != 0;
  if (how == "<") return order < 0;
  if (how == "<=") return order <= 0;
  return how == ">" ? order > 0 : order >= 0;
}

// Adds "optimizer.lr" and all other keys of nested tables.
void add_keys(const Value& table, const std::string& above, std::set<std::string>& keys) {
  for (const auto& [name, value] : table.items()) {
    const std::string key = above.empty() ? name : above + "." + name;
    if (value.is_object()) add_keys(value, key, keys);
    // A component has its name as value.
    if (!value.is_object() || value.contains("name")) keys.insert(key);
  }
}

// Returns the first name with a word that begins like the key: "val_accuracy" for "acc". Empty: there is none.
std::string with_beginning(const std::string& key, const std::vector<std::string>& names) {
  constexpr std::size_t kFewest = 3;
  const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return key.size() >= kFewest && ("_" + name).find("_" + key) != std::string::npos;
  });
  return found == names.end() ? "" : *found;
}

// Reads these keys of the rows' configurations. Throws if no configuration has one of them.
void read_configs(std::vector<Row>& rows, const std::set<std::string>& wanted, const std::vector<std::string>& of_rows,
                  std::vector<std::string>& problems) {
  std::set<std::string> known;
  add_keys(config::write(config::Experiment{}), "", known);
  for (Row& row : rows) try {
      if (row.as_sweep()) continue;
      const Value config = read_config(record::RunDirectory(row.view().folder).config());
      add_keys(config, "", known);
      for (const std::string& key : wanted) {
        if (const Value* value = value_at(config, key)) row.config.emplace(key, *value);
      }
    } catch (const Error& error) {
      problems.push_back(config::printable(error.where() + ": " + error.summary()));
    }
  known.insert(of_rows.begin(), of_rows.end());
  for (const std::string& key : wanted) {
    if (known.contains(key)) continue;
    std::string near = config::nearest(key, of_rows);
    if (near.empty()) near = with_beginning(key, of_rows);
    if (near.empty()) near = config::nearest(key, {known.begin(), known.end()});
    throw usage_error("no result has the key " + config::in_quotes(key), "",
                      near.empty() ? config::suggestion(key, of_rows, "keys") + ", and the keys of config.toml"
                                   : "did you mean \"" + near + "\"?");
  }
}

// Throws if a number would be compared with texts or a text with numbers: neither has an order, and the condition would
// hold for no row.
void require_order(const std::vector<Row>& rows, const Condition& condition) {
  if (!condition.orders()) return;
  bool any = false;
  for (const Row& row : rows) {
    const Value value = value_of(row, condition.key);
    if (!value.is_null() && same_kind(value, condition.value)) return;
    any = any || !value.is_null();
  }
  if (!any) return;
  const bool is_number = condition.value.is_number();
  throw usage_error(config::in_quotes(condition.key) + (is_number ? " is a text" : " is a number") + " and " +
                        config::in_quotes(as_text(condition.value)) + (is_number ? " is a number" : " is a text"),
                    "--where", "compare them with = or !=");
}

std::set<std::string> keys_of_config(const Query& query, const std::string& sort_key,
                                     const std::vector<std::string>& of_rows) {
  std::set<std::string> keys;
  for (const Condition& condition : query.where) keys.insert(condition.key);
  keys.insert(sort_key);
  std::erase_if(keys, [&](const std::string& key) { return contains(of_rows, key); });
  return keys;
}

// Returns the keys that are not keys of config.toml.
std::vector<std::string> keys_of(const std::vector<Row>& rows, const Query& query) {
  std::set<std::string, record::MetricOrder> metrics(query.metrics.begin(), query.metrics.end());
  for (std::string& name : metrics_of(rows)) metrics.insert(std::move(name));
  return row_keys({metrics.begin(), metrics.end()});
}

void sort(std::vector<Row>& rows, const std::string& key, bool greatest_first) {
  std::vector<std::pair<Value, std::size_t>> order;
  for (std::size_t i = 0; i < rows.size(); ++i) order.emplace_back(value_of(rows[i], key), i);
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    if (a.first.is_null() != b.first.is_null()) return b.first.is_null();
    const int way = a.first.is_null() ? 0 : compare(a.first, b.first);
    if (way != 0) return greatest_first ? way > 0 : way < 0;
    // Equal rows are sorted by name: run ids begin with the time.
    const int by_name = rows[a.second].run.compare(rows[b.second].run);
    return greatest_first ? by_name > 0 : by_name < 0;
  });
  std::vector<Row> sorted;
  sorted.reserve(rows.size());
  for (const auto& [value, index] : order) sorted.push_back(std::move(rows[index]));
  rows = std::move(sorted);
}

void require_status(const std::string& status) {
  static const std::vector<std::string> kStatuses{"running", "completed", "failed", "interrupted"};
  if (status.empty() || contains(kStatuses, status)) return;
  throw usage_error("no run has the status " + config::in_quotes(status), "--status",
                    config::suggestion(status, kStatuses, "give one of these"));
}

}  // namespace

std::vector<Row> select(std::vector<Row> rows, const Query& query, std::vector<std::string>& problems) {
  require_status(query.status);
  const bool greatest_first = query.sort_by.starts_with('-');
  const std::string sort_key = query.sort_by.substr(greatest_first ? 1 : 0);
  const std::vector<std::string> of_rows = keys_of(rows, query);
  std::erase_if(rows, [&](const Row& row) {
    if (!query.status.empty() && row.view().status != query.status) return true;
    return !query.name.empty() && fnmatch(query.name.c_str(), row.view().name.c_str(), 0) != 0;
  });
  const auto keep = [&](bool of_config) {
    for (const Condition& condition : query.where) {
      if (contains(of_rows, condition.key) == of_config) continue;
      if (of_config) require_order(rows, condition);
      std::erase_if(rows, [&](const Row& row) { return !holds(condition, row); });
    }
  };
  // Conditions on summaries come first: reading a configuration takes ten times longer.
  keep(/*of_config=*/false);
  if (const auto wanted = keys_of_config(query, sort_key, of_rows); !wanted.empty() && !rows.empty()) {
    read_configs(rows, wanted, of_rows, problems);
    keep(/*of_config=*/true);
  }
  sort(rows, sort_key, greatest_first);
  if (query.limit > 0 && rows.size() > query.limit) rows.resize(query.limit);
  return rows;
}

}  // namespace ddp::report
