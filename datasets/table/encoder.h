#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "datasets/table/options.h"
#include "datasets/table/scaler.h"
#include "datasets/table/table.h"
#include "datasets/table/value_names.h"

namespace ddp::datasets {

// The kind of targets that a loss takes: a class, 0 or 1 a column, or numbers.
enum class TargetKind { classes, binary, numbers };
TargetKind target_kind(const std::string& loss);

// How cells become numbers: what is fitted on the training rows, and kept as preprocessing.json.
struct Encoder {
  struct Feature {
    std::string name;
    bool is_category = false;
    ValueNames values;  // of a category
    double fill = 0;    // of a missing number, before it is scaled
    Scale scale;        // of a number

    // Columns of the input that it becomes.
    std::int64_t width() const { return is_category ? values.size() : 1; }
  };

  std::string missing = "error";
  std::vector<Feature> features;
  TargetKind kind = TargetKind::numbers;
  std::vector<std::string> targets;  // columns
  ValueNames classes;                // of targets that are classes
  bool classes_given = false;        // by the option `classes`; not kept: an error names what to correct
  std::vector<Scale> target_scales;  // of targets that are numbers, a scale each

  // Columns of the input.
  std::int64_t width() const;
  // The columns to read: features, then targets. Text where a value is a name.
  std::vector<format::WantedColumn> wanted(bool with_targets) const;
};

config::Value to_json(const Encoder& encoder);
// Is this preprocessing of to_json?
bool is_table(const config::Value& preprocessing);
// The reverse. Throws ddp::Error (usage) where the JSON is none of to_json's.
Encoder encoder_from_json(const config::Value& json);

// Chooses features and targets among the columns of the files, unfitted. `how`, `file`: how the first file was read,
// for errors. Throws ddp::Error (usage) where a column that an option names does not exist, or no feature is left.
Encoder choose_columns(const TableSection& options, const std::vector<format::ColumnInfo>& columns,
                       const std::string& loss, const format::TableOptions& how, const std::string& file);

// Fits an encoder on these rows of a table (int64 [n], ascending), whose columns are wanted(true).
void fit(Encoder& encoder, const Table& table, const at::Tensor& rows, const TableSection& options);

// The cells of a table as tensors.
struct Encoded {
  at::Tensor inputs;               // float32 [rows, width]
  at::Tensor targets;              // int64 [rows], or float32 [rows, columns]; undefined: they were not read
  at::Tensor usable;               // bool [rows]: false where `missing` is "drop" and a feature is missing
  std::int64_t unknown_names = 0;  // cells of categories whose value the training rows do not have
};

// Encodes all rows of a table. Throws ddp::Error (usage) for missing, infinite and unknown cells, up to 20 in one
// error.
Encoded encode(const Encoder& encoder, const Table& table, bool with_targets);

// The value of each row in a text column of a table: int64 [rows], numbers of `values`; -1: missing.
at::Tensor numbers_of(const Table& table, std::size_t column, const ValueNames& values);

// The distinct values of a text column in these rows.
ValueNames distinct_values(const Table& table, std::size_t column, const at::Tensor& rows);

}  // namespace ddp::datasets
