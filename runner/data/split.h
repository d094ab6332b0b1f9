#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/experiment.h"
#include "datasets/dataset.h"

namespace ddp::data {

// The samples of a dataset for training, and the held-out samples.
struct Parts {
  at::Tensor train;       // int64, ascending: all that are not held out; with folds in an order, those before the fold
  at::Tensor validation;  // int64 [held out], in the order of the permutation
  at::Tensor test;        // int64 [held out], in the order of the permutation
  std::vector<std::string> warnings = {};
};

// Splits the samples of a dataset by the options of [validation] and [test]: first those of the test, with the order of
// p = randperm(n) of a generator with the seed of [test]; then those of validation from the rest, with the seed of
// [validation]. A plain split holds out the first floor(split * n) samples of p. `stratify`: holds out a sample, in the
// order of p, if fewer than floor(split * n_class + 0.5) samples of its class are held out. `by`: holds out all samples
// with the same value of a column together, in the order of the values' first appearance in p, until at least
// floor(split * n) samples are held out; samples without a value form one group, with a warning.
//
// `validation.known_rows` divides the rows into parts that came one after the other. Each part is split by itself, with
// the same rules and seeds, so that rows that were there before keep their set; rows of a group that was there before
// join it. With test.seed = "validation", as in runs of former versions, validation is drawn first, and the test from
// the rest, with the seed of [validation].
//
// `validation.last` holds out the last floor(last * n) rows in the order of a column, in which equal values keep the
// order of the rows.
//
// Folds are of the rows that the test leaves, in the order of p = randperm(n) of a generator with the seed of the folds
// plus the repeat. Their sizes are those of scikit-learn's classes: KFold's contiguous cuts of p; of each class as many
// as StratifiedKFold has, in the order of p; whole groups by GroupKFold's rule, and the cuts of TimeSeriesSplit, in
// which p plays no part.
//
// Throws ddp::Error (usage) if the dataset has no classes or no such column, if a class of the first part has only one
// sample, if there are fewer rows than known ones, or too few rows, classes or groups for the folds.
Parts split(const datasets::MapDataset& dataset, const config::Validation& validation, const config::Test& test,
            const config::Folds& folds = {});

}  // namespace ddp::data
