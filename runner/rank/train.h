#pragma once

#include <cstdint>
#include <string>

#include "config/option/option.h"

namespace ddp::rank {

// Trains as one rank, from its fork to its end. Sends no reply: the results are in the run directory.
struct TrainRequest {
  static constexpr const char* kVerb = "train";

  bool resumed = false;      // the run directory existed before
  std::string changes = {};  // changed settings since then, a JSON object: {"batch_size": [32, 16]}
  // The files of the data, as record::to_value writes them. Each checkpoint contains them.
  config::Value data_files = config::Value::array();
  std::int64_t until_epoch = 0;  // saves and stops when this many epochs are done; 0: at the end

  void fields(config::Fields& f) {
    f({.name = "resumed"}, resumed);
    f({.name = "changes"}, changes);
    f({.name = "data_files", .types = {config::Type::list}}, data_files);
    f({.name = "until_epoch"}, until_epoch);
  }
};

}  // namespace ddp::rank
