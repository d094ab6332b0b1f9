#include "report/select/query.h"

#include <fnmatch.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/paths.h"
#include "base/text_number.h"
#include "config/check/suggest.h"
#include "config/experiment.h"
#include "config/text/source.h"
#include "record/metrics/metric_values.h"
#include "record/run_directory.h"
#include "report/read/summary_view.h"
#include "report/select/row.h"

namespace ddp::report {
namespace {

constexpr std::string_view kName = ".name";
constexpr std::array<std::string_view, 6> kTextKeys = {"run", "kind", "name", "run_id", "status", "started"};

bool is_text_key(const std::string& key) {
  return std::find(kTextKeys.begin(), kTextKeys.end(), key) != kTextKeys.end();
}

bool is_number_key(const std::string& key) {
  const std::vector<std::string> keys = row_keys({});
  if (is_metric_key(key)) return true;
  return std::find(keys.begin(), keys.end(), key) != keys.end() && !is_text_key(key);
}

}  // namespace

std::vector<Condition> parse_conditions(const std::string& text) {
  static const std::regex kCondition(
      R"re(\s*([^\s<>=!'"]+)\s*(<=|>=|==|!=|<|>|=)\s*('[^']*'|"[^"]*"|[^\s'"<>=!][^\s<>=!]*)(\s+and(?=\s)|\s*$))re");
  const auto fail = [&text](auto at, const std::string& what, const std::string& remedy) {
    // Continuation bytes of a character do not count.
    const auto characters = std::count_if(text.begin(), at, [](unsigned char c) { return (c & 0xC0) != 0x80; });
    throw usage_error(config::in_quotes(text) + " is not a condition: " + what,
                      "--where, character " + std::to_string(characters + 1), remedy);
  };
  std::vector<Condition> all;
  for (auto at = text.begin(); all.empty() || at != text.end();) {
    std::smatch found;
    if (!std::regex_search(at, text.end(), found, kCondition, std::regex_constants::match_continuous)) {
      fail(at, "expected a key, a comparison and a value",
           "the comparison is one of < <= > >= = !=, the value a number, a word, or a text in quotes; join conditions "
           "with \"and\": --where 'val_loss<0.3 and name=basic'");
    }
    const std::string key = found[1], word = found[3];
    const bool quoted = word.front() == '\'' || word.front() == '"';
    const double number = quoted ? NAN : text_number<double>(word).value_or(NAN);
    const bool is_number = !std::isnan(number);
    if (is_number_key(key) && !is_number) {
      fail(found[3].first, config::in_quotes(key) + " is a number, but " + config::in_quotes(word) + " is not",
           "compare it with a number, without quotes");
    }
    all.push_back({.key = key,
                   .comparison = found[2] == "==" ? "=" : found[2].str(),
                   .value = is_number && !is_text_key(key)
                                ? config::Value(number)
                                : config::Value(quoted ? word.substr(1, word.size() - 2) : word)});
    at = found[0].second;
  }
  return all;
}

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

// Reads these keys of the rows' configurations. Throws if no configuration has one of them.
void read_configs(std::vector<Row>& rows, const std::set<std::string>& wanted, const std::vector<std::string>& of_rows,
                  std::vector<std::string>& problems) {
  std::set<std::string> known;
  // A component, "optimizer", has its name as value.
  const auto each_key = [&known](const Value& config, const auto& visit) {
    for (const auto& [key, value] : config.items()) {
      const std::string component = key.ends_with(kName) ? key.substr(0, key.size() - kName.size()) : key;
      for (const std::string& name : {key, component}) {
        known.insert(name);
        visit(name, value);
      }
    }
  };
  each_key(flat(config::write(config::Experiment{})), [](auto&, auto&) {});
  for (Row& row : rows) try {
      if (row.as_sweep()) continue;
      each_key(flat(read_config(record::RunDirectory(row.view().folder).config())), [&](auto& key, auto& value) {
        if (wanted.contains(key)) row.config.emplace(key, value);
      });
    } catch (const Error& error) {
      problems.push_back(config::printable(error.where() + ": " + error.summary()));
    }
  known.insert(of_rows.begin(), of_rows.end());
  for (const std::string& key : wanted) {
    if (known.contains(key)) continue;
    std::string near = config::nearest(key, of_rows);
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

bool asks_for(const Query& query, const std::string& key) {
  return query.sort_by == key || query.sort_by == "-" + key || contains(query.columns, key) ||
         std::any_of(query.where.begin(), query.where.end(), [&](const Condition& one) { return one.key == key; });
}

std::set<std::string> keys_of_config(const Query& query, const std::string& sort_key,
                                     const std::vector<std::string>& of_rows) {
  std::set<std::string> keys;
  for (const Condition& condition : query.where) keys.insert(condition.key);
  keys.insert(sort_key);
  keys.insert(query.columns.begin(), query.columns.end());
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
  if (status.empty() || contains(record::kStatuses, status)) return;
  throw usage_error("no run has the status " + config::in_quotes(status), "--status",
                    config::suggestion(status, record::kStatuses, "give one of these"));
}

}  // namespace

std::vector<Row> select(std::vector<Row> rows, const Query& query, std::vector<std::string>& problems) {
  require_status(query.status);
  const bool greatest_first = query.sort_by.starts_with('-');
  const std::string sort_key = query.sort_by.substr(greatest_first ? 1 : 0);
  const std::vector<std::string> of_rows = keys_of(rows, query);
  std::erase_if(rows, [&](const Row& row) {
    if (!query.status.empty() && row.view().status != query.status) return true;
    const std::vector<std::string>& tags = row.view().tags.names;
    if (!std::all_of(query.tags.begin(), query.tags.end(), [&](auto& tag) { return contains(tags, tag); })) return true;
    return !query.name.empty() && fnmatch(query.name.c_str(), row.view().name.c_str(), 0) != 0;
  });
  const auto keep = [&](bool of_config) {
    for (const Condition& condition : query.where) {
      if (contains(of_rows, condition.key) == of_config) continue;
      if (of_config) require_order(rows, condition);
      std::erase_if(rows, [&](const Row& row) { return !holds(condition, row); });
    }
  };
  // Each folder is walked, so only if the query asks for it.
  if (asks_for(query, "size")) {
    for (Row& row : rows) row.size = paths::size_on_disk(row.view().folder);
  }
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
