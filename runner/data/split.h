#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/experiment.h"
#include "datasets/dataset.h"

namespace ddp::data {

// The samples of a dataset for training, and the held-out samples.
struct Parts {
  at::Tensor train;       // int64 [n - held out], ascending
  at::Tensor validation;  // int64 [held out], in the order of the permutation
  at::Tensor test;        // int64 [held out], in the order of the permutation
  std::vector<std::string> warnings = {};
};

// Splits the samples of a dataset by the options of [validation] and [test]. p = randperm(n) of a generator with the
// seed of [validation]. A plain split holds out the first floor(split * n) samples of p. `stratify`: holds out a
// sample, in the order of p, if fewer than floor(split * n_class + 0.5) samples of its class are held out. `by`: holds
// out all samples with the same value of a column together, in the order of the values' first appearance in p, until at
// least floor(split * n) samples are held out; samples without a value form one group, with a warning. The test set
// takes samples from the rest by the same rules. Throws ddp::Error (usage) if the dataset has no classes or no such
// column, or if a class has only one sample.
Parts split(const datasets::MapDataset& dataset, const config::Validation& validation, const config::Test& test);

}  // namespace ddp::data
