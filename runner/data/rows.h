#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/data_description.h"
#include "datasets/dataset.h"

namespace ddp::data {

// Rows are compared by some of them, at equal distances: another order, or a row that was inserted, changes most of
// them, and a start need not read all data.

// Returns the marks of the rows of a dataset, and of the first known_rows.back() rows, if any are known.
config::Rows marks_of(const datasets::MapDataset& dataset, const std::vector<std::int64_t>& known_rows);

// Returns a hash of samples (int64 [n]): their numbers and targets. Inputs play no part: with other features or
// transforms they are the same rows.
std::string hash_of_rows(const datasets::MapDataset& dataset, const at::Tensor& samples);

}  // namespace ddp::data
