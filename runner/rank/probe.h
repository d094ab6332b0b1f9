#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/data_description.h"
#include "config/option/fields.h"

namespace ddp::rank {

// The facts about an experiment that need LibTorch.
struct Probe {
  std::vector<std::string> warnings = {};
  std::int64_t parameters = 0;
  std::int64_t frozen_parameters = 0;  // part of `parameters`
  std::int64_t parameter_bytes = 0;
  std::int64_t gradient_bytes = 0;  // without frozen parameters
  std::int64_t buffer_bytes = 0;
  std::int64_t operators = 0;  // model::GivesOutputs::operators()
  std::int64_t optimizer_bytes = 0;
  bool has_convolutions = false;   // has weights of 4 dimensions; channels_last changes these only
  std::int64_t train_samples = 0;  // 0: endless
  std::int64_t validation_samples = 0;
  std::int64_t test_samples = 0;
  config::Rows rows = {};        // data::Sets::rows
  std::int64_t least_batch = 1;  // smallest batch that the model accepts
  std::int64_t most_batch = INT64_MAX;
  std::vector<config::GroupDescription> groups = {};  // of parameters
  std::vector<config::GroupDescription> layers = {};  // of [optimizer] layers
  bool compares_samples = false;                      // train::GraphLoss
  std::string not_divided = {};                       // why ranks do not divide the update; "": they do
  double step_seconds = 0;                            // estimated time of a step; 0: not requested
  // The replay of a step, if its time was requested: the reason why there is none, or the number of calls of kernels in
  // a micro-batch, without DDP's, and the number of our own kernels among them.
  std::string not_replayed = {};
  std::int64_t calls = 0;
  std::int64_t own_calls = 0;
  std::int64_t recorded_bytes = 0;  // of the recording, whether it was too large or not; 0: none

  void fields(config::Fields& f) {
    f({.name = "warnings"}, warnings);
    f({.name = "parameters"}, parameters);
    f({.name = "frozen_parameters"}, frozen_parameters);
    f({.name = "parameter_bytes"}, parameter_bytes);
    f({.name = "gradient_bytes"}, gradient_bytes);
    f({.name = "buffer_bytes"}, buffer_bytes);
    f({.name = "operators"}, operators);
    f({.name = "optimizer_bytes"}, optimizer_bytes);
    f({.name = "has_convolutions"}, has_convolutions);
    f({.name = "train_samples"}, train_samples);
    f({.name = "validation_samples"}, validation_samples);
    f({.name = "test_samples"}, test_samples);
    f({.name = "rows"}, rows);
    f({.name = "least_batch"}, least_batch);
    f({.name = "most_batch"}, most_batch);
    f({.name = "groups"}, groups);
    f({.name = "layers"}, layers);
    f({.name = "compares_samples"}, compares_samples);
    f({.name = "step_seconds"}, step_seconds);
    f({.name = "not_divided"}, not_divided);
    f({.name = "not_replayed"}, not_replayed);
    f({.name = "calls"}, calls);
    f({.name = "own_calls"}, own_calls);
    f({.name = "recorded_bytes"}, recorded_bytes);
  }
};

// Returns the file that the probe's error names if the saved state does not fit the optimizer.
inline std::filesystem::path optimizer_file(const std::filesystem::path& checkpoint) {
  return checkpoint / "optimizer.safetensors";
}

// Builds the model on the CPU, runs forward and loss on a few samples, and checks the weights and the state that the
// task resumes from. Uses only the fields of the task that are the same on all ranks. The reply is one Probe.
struct ProbeRequest {
  using Reply = Probe;
  static constexpr const char* kVerb = "probe";

  bool timed = false;  // also try a whole batch: the time of a step, and what of it is replayed

  void fields(config::Fields& f) { f({.name = "timed"}, timed); }
};

// Builds the model of an experiment without running it. Reads the model's file, if any, and refuses one that cannot be
// trained, with what `freeze` leaves. The reply is {}.
struct CheckRequest {
  static constexpr const char* kVerb = "check";

  void fields(config::Fields&) {}
};

}  // namespace ddp::rank
