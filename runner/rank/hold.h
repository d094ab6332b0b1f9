#pragma once

#include <string>

#include "config/option/option.h"

namespace ddp::rank {

// Facts about the data of an experiment.
struct DataFacts {
  config::Value facts = config::Value::object();  // the result of data::facts_of

  void fields(config::Fields& f) { f({.name = "facts", .types = {config::Type::table}}, facts); }
};

// Builds the data of an experiment and writes their in-memory tensors to a file, which the ranks receive as
// Task::held_data. The reply is one DataFacts.
struct HoldRequest {
  using Reply = DataFacts;
  static constexpr const char* kVerb = "hold";

  std::string file;    // empty: only describe the data
  bool whole = false;  // use all samples of [dataset] as one test set, as data::build_whole

  void fields(config::Fields& f) {
    f({.name = "file"}, file);
    f({.name = "whole"}, whole);
  }
};

}  // namespace ddp::rank
