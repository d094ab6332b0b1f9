#pragma once

#include <ATen/core/Tensor.h>

#include "config/experiment.h"
#include "datasets/dataset.h"

namespace ddp::data {

// The samples of a dataset that a run trains on, and those that it holds out.
struct Parts {
  at::Tensor train;       // int64 [n - held out], ascending
  at::Tensor validation;  // int64 [held out], in the order of the permutation
  at::Tensor test;        // the same
};

// Splits the samples of a dataset as [validation] and [test] say. p = randperm(n) of the generator with the seed of
// [validation]. A plain split holds out the first floor(split * n) of p. `stratify`: in the order of p a sample is held
// out while its class has fewer than floor(split * n_class + 0.5) held out. `by`: the values of a column are held out
// whole, in the order of their first appearance in p, until at least floor(split * n) samples are. The test takes from
// what the validation leaves, by the same rule. Throws ddp::Error (usage) where the dataset has no classes or no such
// column, or where a class has one sample alone.
Parts split(const datasets::MapDataset& dataset, const config::Validation& validation, const config::Test& test);

}  // namespace ddp::data
