#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "datasets/table/encoder.h"
#include "format/table.h"
#include "rank/task.h"
#include "train/metrics/decision.h"

namespace ddp::rank {

// The columns of a run's predictions, and what the outputs mean.
struct PredictionSchema {
  datasets::TargetKind kind = datasets::TargetKind::numbers;
  std::string loss;
  bool of_table = false;
  std::vector<std::string> labels;      // text columns in front of the results
  std::vector<std::string> targets;     // column names; one name for arrays
  std::vector<std::string> classes;     // names of classes; a class without a name is shown by its number
  std::vector<datasets::Scale> scales;  // of numeric targets; empty: no target was scaled
  std::vector<std::string> others;      // columns of further outputs, behind the results; not in NumPy files
  // Other models' results for the same rows: files of float32 [rows, outputs]. The mean of all is written.
  std::vector<std::string> other_models = {};
  train::Decision decision = {};
};

// Derives the schema from the preprocessing for tables; for other data from the loss, the option "targets", and the
// class names in the preprocessing.
PredictionSchema schema_of(const Task& task, const std::vector<std::string>& labels = {});

// The file formats of predictions.
enum class Form { csv, npy, parquet, floats };
Form form_named(const std::string& name);

// Converts outputs of a model for the collector. CSV: lines of text; the header is the first line. NumPy: rows of
// float32; the header is the shape of a row, as JSON; "floats" are the same rows without a header. Parquet: the cells
// of a block's rows, see append(); the header is the columns, as JSON.
class Predictions {
 public:
  // `looked`: the output for one row. Throws ddp::Error (usage) if its shape does not match the targets or is not
  // possible in the file format.
  Predictions(PredictionSchema schema, Form form, const at::Tensor& looked);

  std::string head() const;
  // Appends the rows of a block; `output`: [n, …]; `others`: float32 [n, columns of further outputs]. For Parquet,
  // appends n (8 bytes), then the n cells of each column; each column begins at a multiple of 8 bytes. `labels`: the
  // rows' labels, row by row, each followed by a zero byte. `first_row`: of the block in the whole input.
  void append(std::string& block, std::int64_t first_row, const at::Tensor& output, const at::Tensor& others = {},
              const std::string& labels = "") const;

 private:
  void require_fit(const at::Tensor& looked) const;
  void name_columns();
  std::vector<std::string> target_names() const;
  at::Tensor probabilities(const at::Tensor& output) const;
  at::Tensor predicted_classes(const at::Tensor& values) const;
  bool is_set(float probability) const;
  void undo_scales(const at::Tensor& values) const;
  void average(const at::Tensor& values, std::int64_t first_row) const;
  bool writes_scaled() const { return !schema_.scales.empty() && schema_.other_models.empty(); }
  void append_lines(std::string& block, const at::Tensor& values, const at::Tensor& others,
                    const std::string& labels) const;
  void append_cells(std::string& block, const at::Tensor& values, const at::Tensor& others,
                    const std::string& labels) const;
  void append_labels(std::string& block, std::int64_t rows, const std::string& labels) const;
  void append_numbers(std::string& line, const float* row) const;

  const PredictionSchema schema_;
  const Form form_;
  std::vector<std::int64_t> row_shape_;
  std::int64_t width_ = 1;                                    // number of outputs of a row
  std::vector<std::string> classes_;                          // class names of all outputs
  format::OutputType prediction_ = format::OutputType::text;  // type of the class column
  std::vector<format::OutputColumn> columns_;                 // empty for .npy
};

}  // namespace ddp::rank
