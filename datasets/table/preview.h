#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/table/encoder.h"

namespace ddp::datasets {

// Describes a table of so many rows as Dataset::describe does. A column: {"name", "role" ("feature" or "target"),
// "type" ("number", "category", "class" or "binary")}; of a category also "values", the first 50, and "value_count".
config::Value describe_table(const Encoder& encoder, std::int64_t rows);

// Reads a table again and shows it as Dataset::preview does:
//   "rows": {"columns", "before": a list of cells for each of the first 20 rows; "encoded", "after": what became of
//     them; "columns_left_out", "encoded_left_out"}
//   "histograms": for each column {"name", "missing" (in all rows), and of numbers what
//     Histogram::to_json gives, of names "values": [{"value", "count"}, …] with the 20 most frequent ones and
//     "value_count"}; "histograms_left_out"
// `encoded`: the dataset of these rows; `training`: those that train, int64 [n]. Throws what read_table throws.
config::Value preview_table(const Encoder& encoder, const std::vector<std::filesystem::path>& files,
                            const format::TableOptions& how, const MapDataset& encoded, const at::Tensor& training);

}  // namespace ddp::datasets
