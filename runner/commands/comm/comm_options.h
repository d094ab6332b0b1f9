#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/load/load.h"
#include "launch/cluster/launcher.h"
#include "launch/plan/plan.h"
#include "rank/verbs.h"

namespace ddp::commands {

// The command line of `comm`.
struct CommFlags {
  std::string op = "all";
  std::string sizes = "1KiB..64MiB";
  std::string dtype = "float";
  std::string devices = "auto";
  std::string backend = "auto";
  double timeout = 600;
  std::int64_t iterations = 20;
  std::int64_t warmup = 5;
  bool check = true;
  bool json = false;
  launch::LaunchFlags launch;
};

// Returns the measurement. Throws ddp::Error (usage) if it is impossible.
rank::CommRequest measured_by(const CommFlags& flags);

// Returns the values of --backend.
std::vector<std::string> known_backends(const config::Components& components);

// Returns the settings that a run would read from device_pool, distributed.backend and distributed.timeout.
// `flags.devices` is "auto", a number of ranks, or a list with or without brackets: "0,1", "cpu,cpu", "[0, 1]". Throws
// ddp::Error (usage).
config::Loaded settings_of(const CommFlags& flags);

// Throws ddp::Error (usage) if the greatest tensors of this machine's CPU ranks need more than its free memory.
void require_memory(const launch::Plan& plan, const rank::CommRequest& options);

// Parses the bytes of `comm --sizes`: "64KiB"; several, "1KiB,3KiB"; a range, "1KiB..64MiB", in which each size is
// twice the one before; or "1KiB..64MiB:4" with the factor 4. Units: B (or none), KiB, MiB, GiB and TiB (or K, M, G,
// T); KB, MB, GB and TB (powers of 1000). Throws ddp::Error (usage).
std::vector<std::int64_t> parse_sizes(const std::string& text);

}  // namespace ddp::commands
