#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "record/run_directory.h"

namespace ddp::commands {

// A run to resume from a checkpoint with these --set.
struct Continued {
  const record::RunDirectory& run;
  const std::filesystem::path& checkpoint;
  const std::vector<std::string>& sets;
};

// Returns the command that starts a new run with the settings of this one.
std::string new_run(const record::RunDirectory& run);

// Returns the error about a checkpoint whose optimizer state does not fit the optimizer. The error points at the line
// of the change, and gives the values before and now, and a remedy. `refusal`: the probe's error, which names the state
// that does not fit.
Error other_optimizer(const Continued& continued, const config::Experiment& before, const config::Loaded& now,
                      const Error& refusal);

// Returns the same about a checkpoint whose weights do not fit the model; nothing if the settings of the model have not
// changed.
std::optional<Error> other_model(const Continued& continued, const config::Experiment& before,
                                 const config::Loaded& now, const Error& refusal);

// Returns the error about other data that the run's model does not take; nothing if the data have not changed, or if
// `refusal` is not about the model.
std::optional<Error> other_data(const config::Experiment& before, const config::Loaded& now, const Error& refusal);

}  // namespace ddp::commands
