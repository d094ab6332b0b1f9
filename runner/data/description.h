#pragma once

#include "config/value.h"
#include "data/sets.h"
#include "datasets/batch.h"

namespace ddp::data {

// Describes the data of an experiment for people: config::DataDescription, with the result of Dataset::describe for the
// training data.
// `first`: the first batch of rank 0. Only this batch and the classes of arrays are read from files.
config::Value describe(const Sets& sets, const datasets::Batch& first);

// Returns the classes of a set's samples, int64 [n]; undefined unless each sample has one class.
at::Tensor classes_of(const Set& set);

}  // namespace ddp::data
