#pragma once

#include <string>
#include <vector>

#include "config/option/option.h"

namespace ddp::rank {

// The measured values, by their names in events: val_loss, test_accuracy, …. A matrix, such as val_confusion, is a list
// of rows.
struct Measurement {
  config::Value values = config::Value::object();
  std::vector<std::string> warnings;

  void fields(config::Fields& f) {
    f({.name = "values", .types = {config::Type::table}}, values);
    f({.name = "warnings"}, warnings);
  }
};

// Measures the weights of the checkpoint that the task resumes from, as training does. Rank 0 replies with one
// Measurement.
struct EvaluateRequest {
  using Reply = Measurement;
  static constexpr const char* kVerb = "evaluate";

  bool whole = false;  // on all samples of [dataset], not validation and test; names have no prefix
  bool raw = false;    // the trained weights, not their average

  void fields(config::Fields& f) {
    f({.name = "whole"}, whole);
    f({.name = "raw"}, raw);
  }
};

}  // namespace ddp::rank
