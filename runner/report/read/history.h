#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "config/value.h"
#include "report/read/curves.h"

namespace ddp::report {

// The newest events of possibly many.
struct NewestEvents {
  static constexpr std::size_t kMost = 200;
  std::vector<config::Value> newest;
  std::int64_t in_all = 0;

  void add(config::Value event);
};

// The content of a run's metrics.jsonl, for a picture, in bounded memory even for a long or damaged file.
struct History {
  explicit History(std::size_t most_points) : steps(most_points), epochs(most_points) {}

  Curves steps;                  // loss, lr, samples_per_second
  Curves epochs;                 // every number of an epoch's line, and of the line of a validation inside an epoch
  NewestEvents events;           // restart, resume, test, and events unknown to this version
  NewestEvents checkpoints;      // checkpoint
  std::int64_t passed_over = 0;  // foreign lines
};

// A missing file counts as empty: the run has done no step yet. Throws ddp::Error if the file cannot be read.
History read_history(const std::filesystem::path& metrics, std::size_t most_points);

}  // namespace ddp::report
