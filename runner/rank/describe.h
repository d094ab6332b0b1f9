#pragma once

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

}  // namespace ddp::rank
