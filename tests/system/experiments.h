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

// A small model with dropout on two ranks: 24 steps, with a short last batch in each epoch.
inline constexpr const char* kDropout = R"(
model = { name = "mlp", in_features = 20, hidden = [16], out_features = 4, dropout = 0.2 }
dataset = { name = "random_pairs", size = 90, features = 20, targets = 4 }
loss = "mse"
epochs = 4
batch_size = 8
optimizer = { name = "adamw", lr = 0.01 }
device_pool = ["cpu", "cpu"]
threads = 1
)";

// Runs a shipped experiment on CPUs, also on machines with GPUs; it must train to its end.
inline Outcome train(const Workspace& w, const std::string& name, Words sets = {kTwoCpus}) {
  Outcome run = w.done(with_sets({"run", kExperiments / (name + ".toml")}, sets));
  CHECK(run.run.summary().at("status") == "completed");
  return run;
}

}  // namespace ddp::system_test
