#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/text_date.h"
#include "datasets/dataset.h"
#include "datasets/table/options.h"
#include "datasets/table/scaler.h"
#include "datasets/table/table.h"
#include "datasets/table/value_names.h"

namespace ddp::datasets {

// The kind of targets that a loss takes: one class, 0 or 1 in each column, or numbers.
enum class TargetKind { classes, binary, numbers };
constexpr std::array<const char*, 3> names_of(TargetKind) { return {"classes", "binary", "numbers"}; }
TargetKind target_kind(const std::string& loss);

// The conversion from cells to numbers. It is fitted on the training rows and saved as preprocessing.json.
struct Encoder {
  // A number that the model gets: the cell of a column, or a part of its date.
  struct Input {
    std::optional<DatePart> part = {};  // nothing: the number itself
    double fill = 0;                    // value for a missing cell, before scaling
    Scale scale = {};

    double value_of(double cell) const { return part ? part_of(*part, cell) : cell; }
    void fields(config::Fields& f);
  };

  struct Feature {
    enum class Kind { number, date, category };

    std::string name = {};
    Kind kind = Kind::number;
    std::vector<Input> inputs = {Input{}};  // of a number or a date
    bool indicator = false;                 // a further input is 1 for a missing cell
    ValueNames values = {};                 // of a category
    bool blank_is_value = false;            // of a category: behind the others

    bool is_category() const { return kind == Kind::category; }
    // The number of values of a category.
    std::int64_t names() const { return values.size() + (blank_is_value ? 1 : 0); }
    void fields(config::Fields& f);
  };

  std::string missing = "error";
  bool are_indices = false;  // categories are whole numbers in a second input
  std::vector<Feature> features;
  TargetKind kind = TargetKind::numbers;
  std::vector<std::string> targets;  // columns
  std::string weights;               // column of the rows' weights; empty: all weigh the same
  ValueNames classes;                // the target's classes, if it has classes
  std::vector<Scale> target_scales;  // a scale for each target, if targets are numbers
  std::int64_t version = 3;          // the rules by which values are one: see Equal

  std::vector<std::string> given_classes = {};  // by the option `classes`; not saved

  // Only for the texts of errors; not saved.
  std::string loss = {};
  bool trained_before = false;  // the preprocessing comes from a checkpoint

  // For a prediction, which needs a result for each row: a row that `missing` would drop is an error. Not saved.
  bool keeps_rows = false;

  // The number of columns of a feature in the input of numbers, and of all features.
  std::int64_t width_of(const Feature& feature) const;
  std::int64_t width() const;
  // The number of columns in the input of categories.
  std::int64_t index_width() const;
  // Is a missing cell of this feature an error?
  bool refuses_missing(const Feature& feature) const;
  // The remedy for a missing cell of a feature.
  std::string if_missing() const;
  // The columns to read: features, targets, then weights. Categories and classes are read as text.
  std::vector<format::WantedColumn> wanted(bool with_targets) const;
  void fields(config::Fields& f);
};

// The columns of an input that a feature became.
struct EncodedColumns {
  std::string name = {};
  bool is_category = false;
  std::size_t input = 0;  // of inputs_of()
  std::int64_t begin = 0, count = 0;
};
std::vector<EncodedColumns> encoded_columns(const Encoder& encoder);

// True if an encoder wrote this preprocessing.
bool is_table(const config::Value& preprocessing);
// Returns the scale of each target that is a number; empty if none is scaled, or the data are no table.
std::vector<Scale> target_scales(const config::Value& preprocessing);
// Reads what an encoder wrote. Throws ddp::Error (usage) if it is damaged.
Encoder encoder_from_json(const config::Value& json);

// Chooses features and targets among the columns of the files; the encoder is not fitted. `file`: the first file,
// for errors. Throws one ddp::Error (usage) that names each column that does not exist and each column
// with two roles; or an error if no feature is left.
Encoder choose_columns(const TableSection& options, const std::vector<format::ColumnInfo>& columns,
                       const std::string& loss, const std::string& file);

// Returns the encoder of a dataset: as its context has it, or one that is not fitted.
Encoder encoder_for(const TableSection& options, const std::vector<format::ColumnInfo>& columns, const Context& context,
                    const std::string& file);

// The sizes that a model takes from an encoder that was fitted: Dataset::facts.
config::Value facts_of(const Encoder& encoder);

// Opens a table whose rows are read block by block (format::TableFile::blocks). Its samples, their order in the files,
// and its preprocessing are those of the table in memory.
std::unique_ptr<Dataset> open_table_stream(const TableSection& options, format::TableOptions how,
                                           const Context& context);

// Returns the column that is named like an id of the rows and is neither feature nor target nor weight; "": there is
// none.
std::string id_column(const Encoder& encoder, const std::vector<format::ColumnInfo>& columns);

// Fits an encoder on these rows (int64 [n], ascending) of a table with the columns wanted(true).
void fit(Encoder& encoder, const Table& table, const at::Tensor& rows, const TableSection& options);

// Removes the rows with a missing feature from a mask of a table's rows, as `missing` = "drop" does.
void leave_out_missing(const Table& table, const std::vector<Encoder::Feature>& features, std::vector<bool>& mask);

// Returns warnings about an encoder that was fitted on this number of rows of the table: a target in which nearly every
// row has a value of its own or all rows have the same one, a column in which no row has a value, or the value is the
// row's number.
std::vector<std::string> warnings_of_fit(const Encoder& encoder, const Table& table, std::int64_t rows);

// Adds a warning for each column of numbers whose points may group thousands. `texts_of` reads a column as texts.
void warn_of_groups(const Encoder& encoder, const Table& table,
                    const std::function<Table(const format::WantedColumn& column)>& texts_of,
                    std::vector<std::string>& warnings);

// The cells of a category column whose values the training rows do not have, or that count as missing by the default of
// missing_values though they are not empty.
struct UnknownNames {
  static constexpr std::int64_t kShown = 3;

  std::string column;
  bool count_as_missing = false;
  std::int64_t count = 0;
  std::vector<std::string> first = {};  // up to kShown distinct values
};
// Adds cells of further rows.
void add(std::vector<UnknownNames>& all, const std::vector<UnknownNames>& more);
// Returns a warning for each column.
std::vector<std::string> in_words(const std::vector<UnknownNames>& unknown);

// The cells of a table as tensors.
struct Encoded {
  at::Tensor inputs;   // float32 [rows, width]
  at::Tensor indices;  // int64 [rows, index_width]; undefined: categories are in `inputs`, or there are none
  at::Tensor targets;  // int64 [rows], or float32 [rows, columns]; undefined: they were not read
  at::Tensor weights;  // float32 [rows]; undefined: there are none
  at::Tensor usable;   // bool [rows]: false if `missing` is "drop" and a feature is missing
  std::vector<UnknownNames> unknown_names = {};
};

// Returns these inputs in the order of the model: numbers, if there are any, then the indices of categories.
NamedTensors inputs_of(const Encoded& encoded);

// Encodes all rows of a table. Throws ddp::Error (usage) for missing, infinite and unknown cells, up to 20 in one
// error.
Encoded encode(const Encoder& encoder, const Table& table, bool with_targets);

// Returns a mask of these rows (int64 [n]) for a table of `size` rows. Ignores rows that the table does not have.
std::vector<bool> mask_of(const at::Tensor& rows, std::int64_t size);

// Calls `take` with the column's cells and the row in its piece, for each masked row whose cell is there, in order.
template <class Take>
void each_cell(const Table& table, std::size_t column, const std::vector<bool>& mask, const Take& take) {
  table.each(column, [&](const format::ColumnCells& cells, std::int64_t rows, std::int64_t first_row) {
    for (std::int64_t r = 0; r < rows; ++r) {
      if (mask[static_cast<std::size_t>(first_row + r)] && !cells.is_missing(r)) take(cells, r);
    }
  });
}

// Returns the number in `values` of each row's value in a text column: int64 [rows]; -1: missing or not in `values`.
at::Tensor numbers_of(const Table& table, std::size_t column, const ValueNames& values);

// Returns the distinct values of a text column in these rows, sorted; numbers by value.
ValueNames distinct_values(const Table& table, std::size_t column, const at::Tensor& rows);

// Reads the numbers or dates of a column: float64 [rows]. Throws ddp::Error (usage) if a cell is missing or no number.
at::Tensor order_of(const std::vector<std::filesystem::path>& files, const format::TableOptions& how,
                    const std::string& column, const TableSection& options);

// Returns the number of missing cells in each of the first columns of a table: int64 [columns].
at::Tensor missing_cells(const Table& table, std::size_t columns);

// Describes a table for Dataset::describe.
// `missing`: the number of missing cells of each feature, then of each target.
config::DatasetDescription describe_table(const Encoder& encoder, std::int64_t rows, const at::Tensor& missing);

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
