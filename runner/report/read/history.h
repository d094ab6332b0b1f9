#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "config/value.h"
#include "report/read/curves.h"

namespace ddp::report {

// The newest of many.
struct Happenings {
  static constexpr std::size_t kMost = 200;
  std::vector<config::Value> newest;
  std::int64_t in_all = 0;

  void add(config::Value happening);
};

// What a run's metrics.jsonl tells, for a picture: memory is bounded, however long or damaged the file is.
struct History {
  explicit History(std::size_t most_points) : steps(most_points), epochs(most_points) {}

  Curves steps;                  // loss, lr, samples_per_second
  Curves epochs;                 // every number of an epoch's line, and of a validation's inside an epoch
  Happenings goings_on;          // restart, resume, test, and those that this version does not know
  Happenings checkpoints;        // checkpoint
  std::int64_t passed_over = 0;  // lines that are none of ours
};

// A file that is not there is an empty one: the run has not done a step yet. Throws ddp::Error where it cannot be read.
History read_history(const std::filesystem::path& metrics, std::size_t most_points);

}  // namespace ddp::report
