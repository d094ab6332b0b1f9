#pragma once

#include <string>
#include <vector>

#include "datasets/table/encoder.h"
#include "rank/task.h"

namespace ddp::rank {

// The columns of a run's predictions, and what the outputs mean.
struct PredictionSchema {
  datasets::TargetKind kind = datasets::TargetKind::numbers;
  std::string loss;
  bool of_table = false;
  bool has_paths = false;               // each row is a file; its path is the first column
  std::vector<std::string> targets;     // column names; one name for arrays
  std::vector<std::string> classes;     // names of classes; a class without a name is shown by its number
  std::vector<datasets::Scale> scales;  // of numeric targets; empty: no target was scaled
};

// Derives the schema from the preprocessing for tables; for other data from the loss, the option "targets", and the
// class names in the preprocessing.
PredictionSchema schema_of(const Task& task, bool has_paths = false);

}  // namespace ddp::rank
