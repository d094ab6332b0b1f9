#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"
#include "record/run_directory.h"

namespace ddp::commands {

// A run that was to go on from a checkpoint, with these --set.
struct Continued {
  const record::RunDirectory& run;
  const std::filesystem::path& checkpoint;
  const std::vector<std::string>& sets;
};

// Returns the refusal of a checkpoint whose optimizer's state does not fit the optimizer, at the line that is to blame:
// the values before and now, and the way on. `refusal`: that of the probe, which names what does not fit.
Error other_optimizer(const Continued& continued, const config::Experiment& before, const config::Loaded& now,
                      const Error& refusal);

}  // namespace ddp::commands
