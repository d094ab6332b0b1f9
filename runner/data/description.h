#pragma once

#include "config/value.h"
#include "data/sets.h"
#include "datasets/batch.h"

namespace ddp::data {

// Describes the data of an experiment for people: the result of Dataset::describe for the training data, and
//   "sets": for each set {"set": "train", "samples": 120 (null: unlimited)}; for text also "tokens"; for samples with
//     one class each also "class_counts", in the order of "classes"
//   "classes": {"count", "names": the first 1000}
//   "first_batch": {"inputs", "targets"}, for each tensor {"name", "dtype", "shape", "least", "greatest" (of the finite
//     numbers; null: none), "not_finite": the count of other numbers}
// `first`: the first batch of rank 0. Only this batch and the classes of arrays are read from files.
config::Value describe(const Sets& sets, const datasets::Batch& first);

// Returns the classes of a set's samples, int64 [n]; undefined unless each sample has one class.
at::Tensor classes_of(const Set& set);

}  // namespace ddp::data
