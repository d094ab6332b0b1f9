#pragma once

#include "config/value.h"
#include "data/sets.h"
#include "datasets/batch.h"

namespace ddp::data {

// Describes the data of an experiment for people: what Dataset::describe says of the training data, and
//   "sets": for each set {"set": "train", "samples": 120 (null: drawn without end)}; of texts also "tokens", and of
//     samples with one class each "class_counts", in the order of "classes"
//   "classes": {"count", "names": the first 1000}
//   "first_batch": {"inputs", "targets"}, for each tensor {"name", "dtype", "shape", "least", "greatest" (of the finite
//     numbers; null: there is none), "not_finite": how many others there are}
// `first`: the first batch of rank 0. No file is read but for it and for the classes of arrays.
config::Value describe(const Sets& sets, const datasets::Batch& first);

// The classes of a set's samples, int64 [n]; undefined where samples have not one class each.
at::Tensor classes_of(const Set& set);

}  // namespace ddp::data
