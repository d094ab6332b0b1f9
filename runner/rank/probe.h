#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/option/option.h"

namespace ddp::rank {

// The facts about an experiment that only tensors can tell.
struct Probe {
  std::vector<std::string> warnings = {};
  std::int64_t parameters = 0;
  std::int64_t frozen_parameters = 0;  // of these
  std::int64_t parameter_bytes = 0;
  std::int64_t gradient_bytes = 0;  // less where parameters are frozen
  std::int64_t buffer_bytes = 0;
  std::int64_t optimizer_bytes = 0;
  bool has_convolutions = false;   // weights of 4 dimensions, which channels_last concerns
  std::int64_t train_samples = 0;  // 0: endless
  std::int64_t validation_samples = 0;
  std::int64_t test_samples = 0;
  std::int64_t least_batch = 1;  // samples that the model takes at once
  std::int64_t most_batch = INT64_MAX;
  config::Value groups = config::Value::array();  // of parameters: what match, lr_scale and options say, and how many
  double step_seconds = 0;                        // about what a step takes; 0: it was not asked for

  void fields(config::Fields& f) {
    f({.name = "warnings"}, warnings);
    f({.name = "parameters"}, parameters);
    f({.name = "frozen_parameters"}, frozen_parameters);
    f({.name = "parameter_bytes"}, parameter_bytes);
    f({.name = "gradient_bytes"}, gradient_bytes);
    f({.name = "buffer_bytes"}, buffer_bytes);
    f({.name = "optimizer_bytes"}, optimizer_bytes);
    f({.name = "has_convolutions"}, has_convolutions);
    f({.name = "train_samples"}, train_samples);
    f({.name = "validation_samples"}, validation_samples);
    f({.name = "test_samples"}, test_samples);
    f({.name = "least_batch"}, least_batch);
    f({.name = "most_batch"}, most_batch);
    f({.name = "groups", .types = {config::Type::list}}, groups);
    f({.name = "step_seconds"}, step_seconds);
  }
};

// The file that a refusal of the probe names where the state in it does not fit the optimizer.
inline std::filesystem::path optimizer_file(const std::filesystem::path& checkpoint) {
  return checkpoint / "optimizer.safetensors";
}

// Asks to build the model on the CPU, to run forward and loss on a few samples, and to try the weights and the state
// that the task goes on from. Of the task, only what is the same for all ranks is looked at. The reply is one Probe.
struct ProbeRequest {
  using Reply = Probe;
  static constexpr const char* kVerb = "probe";

  bool timed = false;  // also takes the time of a step, with a whole batch

  void fields(config::Fields& f) { f({.name = "timed"}, timed); }
};

}  // namespace ddp::rank
