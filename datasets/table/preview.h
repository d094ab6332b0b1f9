#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/table/encoder.h"

namespace ddp::datasets {

// Describes a table for Dataset::describe. A column: {"name", "role" ("feature" or "target"), "type" ("number",
// "category", "class" or "binary")}; a category also has "values", the first 50, and "value_count".
config::Value describe_table(const Encoder& encoder, std::int64_t rows);

// Reads a table again, for Dataset::preview:
//   "rows": {"columns", "before": a list of cells for each of the first 20 rows; "encoded", "after": the encoded names
//     and numbers of the same rows; "columns_left_out", "encoded_left_out"}
//   "histograms": for each column {"name", "missing" (in all rows)}, and for numbers the members of Histogram::to_json,
//     for names "values": [{"value", "count"}, …] with the 20 most frequent ones, and "value_count"
//   "histograms_left_out"
// `encoded`: the dataset of these rows; `training`: the training rows, int64 [n]. Throws what read_table throws.
config::Value preview_table(const Encoder& encoder, const std::vector<std::filesystem::path>& files,
                            const format::TableOptions& how, const MapDataset& encoded, const at::Tensor& training);

}  // namespace ddp::datasets
