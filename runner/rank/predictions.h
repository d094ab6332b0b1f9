#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "format/table_writer.h"
#include "rank/meaning.h"

namespace ddp::rank {

// The files that predictions become.
enum class Form { csv, npy, parquet };
Form form_named(const std::string& name);

// Turns outputs of a model into what the collector takes: lines of CSV; rows of float32; or the cells of a block's
// rows, as `append` describes. The head is CSV's first line; the shape of a row, as JSON; or the columns, as JSON
// (columns_from_text).
class Predictions {
 public:
  // `looked`: the output for one row. Throws ddp::Error (usage) where such outputs do not belong to the targets, and
  // where the form does not take them.
  Predictions(Meaning meaning, Form form, const at::Tensor& looked);

  std::string head() const;
  // Appends the rows of a block: outputs [n, …]. Of Parquet: n (8 bytes), then column by column its n cells, each
  // column beginning at a multiple of 8 bytes. `paths`: of the rows, each with a zero byte behind it; "": they have
  // none.
  void append(std::string& block, const at::Tensor& output, const std::string& paths = "") const;

 private:
  void require_fit(const at::Tensor& looked) const;
  void name_columns();
  std::vector<std::string> target_names() const;
  at::Tensor probabilities(const at::Tensor& output) const;
  void undo_scales(const at::Tensor& values) const;
  void append_lines(std::string& block, const at::Tensor& values, const std::string& paths) const;
  void append_cells(std::string& block, const at::Tensor& values, const std::string& paths) const;
  void append_numbers(std::string& line, const float* row) const;

  const Meaning m_;
  const Form form_;
  std::vector<std::int64_t> row_shape_;
  std::int64_t width_ = 1;                                    // columns of outputs
  std::vector<std::string> classes_;                          // of all outputs
  format::OutputType prediction_ = format::OutputType::text;  // of the column of classes
  std::vector<format::OutputColumn> columns_;                 // but for .npy
};

// The columns that a head of Parquet describes.
std::vector<format::OutputColumn> columns_from_text(const std::string& head);

}  // namespace ddp::rank
