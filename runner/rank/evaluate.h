#pragma once

#include <string>
#include <vector>

#include "config/option/option.h"

namespace ddp::rank {

// The measured values of one set, by their names in events: val_loss, test_accuracy, ….
struct Measurement {
  config::Value values = config::Value::object();
  std::string left_out;  // in words: images that do not decode; empty: none

  void fields(config::Fields& f) {
    f({.name = "values", .types = {config::Type::table}}, values);
    f({.name = "left_out"}, left_out);
  }
};

// Asks ranks to measure the weights of the checkpoint that the task goes on from, as training measures. Rank 0 replies
// with one Measurement.
struct EvaluateRequest {
  using Reply = Measurement;
  static constexpr const char* kVerb = "evaluate";

  bool whole = false;  // on all samples of [dataset] instead of validation and test; their names have no prefix
  bool raw = false;    // the weights that training changes, not their average

  void fields(config::Fields& f) {
    f({.name = "whole"}, whole);
    f({.name = "raw"}, raw);
  }
};

}  // namespace ddp::rank
