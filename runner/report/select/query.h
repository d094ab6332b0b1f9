#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/select/condition.h"
#include "report/select/row.h"

namespace ddp::report {

// Which rows are wanted, and in what order.
struct Query {
  std::string status = {};            // "": any
  std::string name = {};              // the experiment's, * and ? as in a shell; "": any
  std::vector<Condition> where = {};  // all of them hold; a row that has no such value is not wanted
  std::string sort_by = "-started";   // a key; with "-", the greatest first. Rows that have none come last.
  std::size_t limit = 0;              // 0: all
  std::vector<std::string> metrics = {"train_loss", "val_loss"};  // to be asked for also where no row has them
};

// The rows that are wanted. A key that is none of row_keys() of the rows' metrics and those
// of the query is one of config.toml, which is read only then. Throws
// ddp::Error (usage) where a key is known to none of the rows; what could not be read is added to `problems`.
std::vector<Row> select(std::vector<Row> rows, const Query& query, std::vector<std::string>& problems);

}  // namespace ddp::report
