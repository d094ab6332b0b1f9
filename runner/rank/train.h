#pragma once

#include <cstdint>
#include <string>

#include "config/option/option.h"

namespace ddp::rank {

// Asks a rank to train from its fork to its end. There is no reply: the records in the run directory tell all.
struct TrainRequest {
  static constexpr const char* kVerb = "train";

  bool resumed = false;      // goes on in a run directory that was there
  std::string changes = {};  // of its experiment since then, a JSON object: {"batch_size": [32, 16]}
  // The files of the data, as record::to_value writes them: each checkpoint tells them.
  config::Value data_files = config::Value::array();
  std::int64_t until_epoch = 0;  // stops, saved, when so many epochs are done; 0: at its end

  void fields(config::Fields& f) {
    f({.name = "resumed"}, resumed);
    f({.name = "changes"}, changes);
    f({.name = "data_files", .types = {config::Type::list}}, data_files);
    f({.name = "until_epoch"}, until_epoch);
  }
};

}  // namespace ddp::rank
