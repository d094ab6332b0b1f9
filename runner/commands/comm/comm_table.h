#pragma once

#include <string>
#include <vector>

#include "config/value.h"
#include "launch/plan/plan.h"
#include "rank/comm.h"

namespace ddp::commands {

// The output of `comm` on stdout: a table with each row as soon as it is measured, or one JSON object at the end.
// Bandwidths are in 10^9 bytes per second, as in nccl-tests.
class CommTable {
 public:
  // `devices`: the known devices of all ranks. A table prints its head at once.
  CommTable(const launch::Plan& plan, int nodes, std::vector<std::string> devices, const rank::CommRequest& options,
            bool json);

  void add(const rank::CommRow& row);
  // `failure`: the reason if rows are missing, else empty. Returns the exit code: 0, or 1 if values were wrong.
  int finish(const std::string& failure);

 private:
  void begin(const config::Value& head) const;

  const bool json_;
  const bool check_;
  config::Value head_;
  config::Value rows_ = config::Value::array();
  std::int64_t wrong_ = 0;
};

// Describes the first wrong value of a row.
std::string wrong_in_words(const rank::CommRow& row);

}  // namespace ddp::commands
