#pragma once

#include <string>

#include "config/option/option.h"

namespace ddp::rank {

// Describes the data of an experiment.
struct DataFacts {
  config::Value facts = config::Value::object();  // as data::facts_of gives them

  void fields(config::Fields& f) { f({.name = "facts", .types = {config::Type::table}}, facts); }
};

// Asks to build the data of an experiment, and to write what they keep in memory into a file, which the ranks get as
// Task::held_data. The reply is one DataFacts.
struct HoldRequest {
  using Reply = DataFacts;
  static constexpr const char* kVerb = "hold";

  std::string file;    // empty: the data are described alone
  bool whole = false;  // all samples of [dataset] are one test set, as data::build_whole makes it

  void fields(config::Fields& f) {
    f({.name = "file"}, file);
    f({.name = "whole"}, whole);
  }
};

}  // namespace ddp::rank
