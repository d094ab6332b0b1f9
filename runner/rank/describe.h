#pragma once

#include <string>

#include "config/components.h"
#include "config/option/option.h"

namespace ddp::rank {

// A description of the data of an experiment, for people.
struct DataView {
  config::Value value = config::Value::object();

  void fields(config::Fields& f) { f({.name = "value", .types = {config::Type::table}}, value); }
};

// Describes the data of an experiment. The reply is one DataView: data::describe of the held data.
struct DescribeRequest {
  using Reply = DataView;
  static constexpr const char* kVerb = "describe";

  void fields(config::Fields&) {}
};

// Builds the parts of a report about the data. The reply is one DataView: the result of data::preview.
struct PreviewRequest {
  using Reply = DataView;
  static constexpr const char* kVerb = "preview";

  void fields(config::Fields&) {}
};

// Returns the random draws for the first training samples in the first epoch. The reply is one DataView:
// config::DrawnSamples.
struct DrawsRequest {
  using Reply = DataView;
  static constexpr const char* kVerb = "draws";

  std::int64_t samples = 1;

  void fields(config::Fields& f) { f({.name = "samples"}, samples); }
};

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

// Lists every registered component. The reply is one config::Components as JSON.
struct ComponentsRequest {
  static constexpr const char* kVerb = "components";

  void fields(config::Fields&) {}
};

}  // namespace ddp::rank
