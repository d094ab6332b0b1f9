#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {

inline const std::filesystem::path kExperiments = DDP_SOURCE "/experiments";

// Returns the path of the digits that the program fetched.
inline std::filesystem::path digits_data() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string root = cache != nullptr && *cache != '\0' ? cache : std::string(home ? home : "") + "/.cache";
  return root + "/ddp-exp/data/digits.csv.gz";
}

inline constexpr const char* kTwoCpus = "device_pool=[\"cpu\", \"cpu\"]";

// Runs a shipped experiment on CPUs, also on machines with GPUs; it must train to its end.
inline Outcome train(const Workspace& w, const std::string& name, Words sets = {kTwoCpus}) {
  Outcome run = w.done(with_sets({"run", kExperiments / (name + ".toml")}, sets));
  CHECK(run.run.summary().at("status") == "completed");
  return run;
}

}  // namespace ddp::system_test
