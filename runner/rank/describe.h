#pragma once

#include "config/option/option.h"

namespace ddp::rank {

// Describes the data of an experiment for people.
struct DataView {
  config::Value value = config::Value::object();

  void fields(config::Fields& f) { f({.name = "value", .types = {config::Type::table}}, value); }
};

// Asks what the data of an experiment are. The reply is one DataView: what data::describe gives of the held data.
struct DescribeRequest {
  using Reply = DataView;
  static constexpr const char* kVerb = "describe";

  void fields(config::Fields&) {}
};

// Asks for the parts of a page about the data. The reply is one DataView: what data::preview gives.
struct PreviewRequest {
  using Reply = DataView;
  static constexpr const char* kVerb = "preview";

  void fields(config::Fields&) {}
};

}  // namespace ddp::rank
