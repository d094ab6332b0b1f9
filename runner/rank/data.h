#pragma once

#include <memory>
#include <optional>

#include "data/batches.h"
#include "data/sets.h"
#include "rank/task.h"
#include "train/loss/loss.h"

namespace ddp::rank {

// Builds the data of a task's experiment, from its held data if any. `whole`: as data::build_whole(). Throws as
// data::build_sets().
data::Sets build_sets(const Task& task, bool whole = false);

// Returns this rank's share of a set to measure on; empty if the set has no dataset.
std::optional<data::EvaluationSet> evaluation_of(const Task& task, const data::Set& set,
                                                 const config::HeldOut& options);

// Throws ddp::Error (usage) if a loss does not take one of the targets of these samples; reads none of their inputs.
// Returns true if it has read the targets of all samples of the dataset.
bool require_targets(const train::CheckTargets& check, const datasets::MapDataset& dataset, const at::Tensor& samples);

// The data of a rank.
struct Data {
  data::Sets sets;
  std::unique_ptr<data::Batches> batches;         // training batches
  std::optional<data::EvaluationSet> validation;  // empty: no such set
  std::optional<data::EvaluationSet> test;
};

Data build_data(const Task& task);

}  // namespace ddp::rank
