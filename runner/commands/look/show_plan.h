#pragma once

#include <filesystem>

#include "commands/sweep/sweep.h"
#include "commands/train/prepare.h"
#include "config/data_description.h"
#include "config/output.h"

namespace ddp::commands {

// A planned run as `plan --json` prints it.
struct PlanOfRun {
  struct Rank {
    std::int64_t rank = 0;
    std::vector<std::string> devices;

    void members(config::Members& m) const;
  };

  config::Experiment experiment = {};
  launch::Workload workload = {};
  rank::Probe probe = {};
  std::int64_t world_size = 0;
  std::vector<Rank> ranks = {};
  std::int64_t bytes_per_rank = 0;
  std::int64_t snapshot_bytes = 0;
  config::Value sizes = {};
  config::Value data = {};
  std::string results = {};
  std::vector<std::string> warnings = {};

  void members(config::Members& m) const;
};

// Prints a plan to stdout, for people or as JSON. `data`: the output of data::describe. `results`: the results folder
// of the planned run.
void show_plan(const Prepared& prepared, const config::Value& data, const std::filesystem::path& results, bool json);

// A planned sweep as `plan --json` prints it.
struct PlanOfSweep {
  struct Trial {
    std::int64_t trial = 0;
    config::Value parameters = config::Value::object();
    std::int64_t world_size = 0;
    std::int64_t steps = 0;
    std::optional<double> seconds = {};

    void members(config::Members& m) const;
  };

  std::string name = {}, method = {}, metric = {}, goal = {};
  std::int64_t at_once = 0;
  std::size_t gpus = 0;
  std::int64_t cores = 0;
  std::optional<double> seconds = {};
  std::string results = {};
  std::vector<Trial> trials = {};
  std::vector<std::string> warnings = {};

  void members(config::Members& m) const;
};

// Prints the planned sweep for people or as JSON: its trials, their devices, and an estimate of the time. `results`:
// the results folder of the sweep.
void show_sweep(const PreparedSweep& sweep, const std::filesystem::path& results, bool json);

}  // namespace ddp::commands
