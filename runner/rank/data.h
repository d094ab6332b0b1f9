#pragma once

#include <memory>
#include <optional>

#include "data/batches.h"
#include "data/evaluation.h"
#include "data/sets.h"
#include "rank/task.h"

namespace ddp::rank {

// Builds the data of a task's experiment, from the held ones where there are some. Throws what data::build_sets does.
// `whole`: as data::build_whole does.
data::Sets build_sets(const Task& task, bool whole = false);

// Returns this rank's share of a set to measure on; nothing where there is no such set.
std::optional<data::EvaluationSet> evaluation_of(const Task& task, const data::Set& set,
                                                 const config::HeldOut& options);

// The data of a rank.
struct Data {
  data::Sets sets;
  std::unique_ptr<data::Batches> batches;         // to train on
  std::optional<data::EvaluationSet> validation;  // none: there is no such set
  std::optional<data::EvaluationSet> test;
};

Data build_data(const Task& task);

}  // namespace ddp::rank
