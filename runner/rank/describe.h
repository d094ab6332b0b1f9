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

// Asks what is drawn for the first training samples in the first epoch. The reply is one DataView: "epoch", and
// "samples", a list of {"sample": its index, "draws": MapDataset::draws}.
struct DrawsRequest {
  using Reply = DataView;
  static constexpr const char* kVerb = "draws";

  std::int64_t samples = 1;

  void fields(config::Fields& f) { f({.name = "samples"}, samples); }
};

}  // namespace ddp::rank
