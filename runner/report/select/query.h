#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/option/value.h"
#include "report/select/row.h"

namespace ddp::report {

// "val_loss<0.3": a key, one of < <= > >= = !=, and a number or a text.
struct Condition {
  std::string key;
  std::string comparison;
  config::Value value;

  // Does it need ordered values, that is, is it neither = nor != ?
  bool orders() const { return comparison != "=" && comparison != "!="; }
};

// Parses `condition (and condition)*`. A condition is a key, a comparison and a value: a number, one bare word, or a
// text in single or double quotes. Throws ddp::Error (usage) with the place of a syntax error, or if a key that is
// always a number is compared with a text.
std::vector<Condition> parse_conditions(const std::string& text);

// The selected rows and their order.
struct Query {
  std::string status = {};                // "": any
  std::string name = {};                  // the experiment's name; * and ? as in a shell; "": any
  std::vector<std::string> tags = {};     // all must be there
  std::vector<Condition> where = {};      // all must hold; a row without the key is left out
  std::string sort_by = "-started";       // a key; with "-", greatest first; rows without the key come last
  std::size_t limit = 0;                  // 0: no limit
  std::vector<std::string> columns = {};  // keys to read for a list beside these; each row then has their values
  std::vector<std::string> metrics = {"train_loss", "val_loss"};  // accepted even if no row has them
};

// Returns the selected rows. A key outside row_keys() of the rows' metrics and `query.metrics` is a key of config.toml,
// which is read only for such keys. Throws ddp::Error (usage) if no row has a key. Adds a line to `problems` for
// everything that cannot be read.
std::vector<Row> select(std::vector<Row> rows, const Query& query, std::vector<std::string>& problems);

}  // namespace ddp::report
