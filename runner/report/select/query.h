#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/select/condition.h"
#include "report/select/row.h"

namespace ddp::report {

// The selected rows and their order.
struct Query {
  std::string status = {};            // "": any
  std::string name = {};              // the experiment's name; * and ? as in a shell; "": any
  std::vector<Condition> where = {};  // all must hold; a row without the key is left out
  std::string sort_by = "-started";   // a key; with "-", greatest first; rows without the key come last
  std::size_t limit = 0;              // 0: no limit
  std::vector<std::string> metrics = {"train_loss", "val_loss"};  // accepted even if no row has them
};

// Returns the selected rows. A key outside row_keys() of the rows' metrics and `query.metrics` is a key of config.toml,
// which is read only for such keys. Throws ddp::Error (usage) if no row has a key. Adds a line to `problems` for
// everything that cannot be read.
std::vector<Row> select(std::vector<Row> rows, const Query& query, std::vector<std::string>& problems);

}  // namespace ddp::report
