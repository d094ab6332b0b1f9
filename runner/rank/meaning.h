#pragma once

#include <string>
#include <vector>

#include "datasets/table/encoder.h"
#include "rank/task.h"

namespace ddp::rank {

// The meaning of a run's outputs.
struct Meaning {
  datasets::TargetKind kind = datasets::TargetKind::numbers;
  std::string loss;
  bool of_table = false;
  bool has_paths = false;               // each row is a file, whose path comes first
  std::vector<std::string> targets;     // the names of columns; of arrays one
  std::vector<std::string> classes;     // the names of classes; the others are named by their numbers
  std::vector<datasets::Scale> scales;  // of the targets that are numbers; empty: none was scaled
};

// The meaning is that of the preprocessing for tables and images, and that of the loss and the option "targets" for
// other data.
Meaning meaning_of(const Task& task, bool has_paths = false);

}  // namespace ddp::rank
