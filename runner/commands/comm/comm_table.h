#pragma once

#include <string>
#include <vector>

#include "config/value.h"
#include "launch/plan/plan.h"
#include "rank/comm.h"

namespace ddp::commands {

// What `comm` prints to stdout: a table, each row when it is there, or one JSON object at the end. Bandwidths as
// nccl-tests has them: in 10^9 bytes a second.
class CommTable {
 public:
  // `devices`: of all ranks, as far as this process knows them. A table begins at once.
  CommTable(const launch::Plan& plan, int nodes, std::vector<std::string> devices, const rank::CommRequest& options,
            bool json);

  void add(const rank::CommRow& row);
  // `failure`: why not all rows are there; empty: they are. Returns the exit code: 0, or 1 where values were wrong.
  int finish(const std::string& failure);

 private:
  void begin(const config::Value& head) const;

  const bool json_;
  const bool check_;
  config::Value head_;
  config::Value rows_ = config::Value::array();
  std::int64_t wrong_ = 0;
};

// The first wrong value of a row.
std::string wrong_in_words(const rank::CommRow& row);

}  // namespace ddp::commands
