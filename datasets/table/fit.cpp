#include <algorithm>
#include <vector>

#include <ATen/Parallel.h>

#include "base/error.h"
#include "datasets/table/encoder.h"

namespace ddp::datasets {
namespace {

using format::ColumnCells;

std::vector<bool> mask_of(const at::Tensor& rows, std::int64_t size) {
  std::vector<bool> mask(static_cast<std::size_t>(size));
  const std::int64_t* row = rows.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < rows.numel(); ++i) mask[static_cast<std::size_t>(row[i])] = true;
  return mask;
}

// Calls `take` with the column's cells and the row in its piece, for each masked row, in order.
template <class Take>
void each_cell(const Table& table, std::size_t column, const std::vector<bool>& mask, const Take& take) {
  for (const Table::Piece& piece : table.pieces) {
    const ColumnCells& cells = piece.chunk.columns[column];
    for (std::int64_t r = 0; r < piece.chunk.rows; ++r) {
      if (mask[static_cast<std::size_t>(piece.first_row + r)]) take(cells, r);
    }
  }
}

ColumnFit fit_numbers(const Table& table, std::size_t column, const std::vector<bool>& mask) {
  ColumnFit fitted;
  each_cell(table, column, mask, [&](const ColumnCells& cells, std::int64_t r) {
    if (!cells.is_missing(r)) fitted.add(cells.numbers[r]);
  });
  fitted.end_first_pass();
  each_cell(table, column, mask, [&](const ColumnCells& cells, std::int64_t r) {
    if (!cells.is_missing(r)) fitted.add_deviation(cells.numbers[r]);
  });
  return fitted;
}

ValueNames distinct(const Table& table, std::size_t column, const std::vector<bool>& mask, Equal equal) {
  ValueNames values;
  each_cell(table, column, mask, [&](const ColumnCells& cells, std::int64_t r) {
    if (!cells.is_missing(r)) values.add(cells.text_of(r));
  });
  return values.sorted(equal);
}

// Removes the rows with a missing feature from the mask.
void leave_out_missing(const Table& table, std::size_t features, std::vector<bool>& mask) {
  for (const Table::Piece& piece : table.pieces) {
    for (std::size_t column = 0; column < features; ++column) {
      const ColumnCells& cells = piece.chunk.columns[column];
      for (std::int64_t r = 0; cells.valid != nullptr && r < piece.chunk.rows; ++r) {
        if (cells.is_missing(r)) mask[static_cast<std::size_t>(piece.first_row + r)] = false;
      }
    }
  }
}

// Throws if no complete row is left: a run would end at once, without a step.
void require_rows(const std::vector<bool>& mask) {
  if (std::find(mask.begin(), mask.end(), true) != mask.end()) return;
  throw usage_error("leaves no sample to train on: each row for training has a missing cell", "dataset.missing",
                    "use \"mean\" or \"zero\", or leave the incomplete columns out with dataset.drop");
}

void fit_targets(Encoder& e, const Table& table, const std::vector<bool>& mask, const TableSection& options) {
  const std::size_t first = e.features.size();
  if (e.kind == TargetKind::classes) {
    e.classes = e.given_classes.empty() ? distinct(table, first, mask, Equal::numbers) : ValueNames(e.given_classes);
    return;
  }
  e.target_scales.assign(e.targets.size(), {});
  if (e.kind != TargetKind::numbers || !options.normalise_targets) return;
  for (std::size_t i = 0; i < e.targets.size(); ++i) {
    e.target_scales[i] = fit_numbers(table, first + i, mask).scale(Scale::Kind::standard);
  }
}

}  // namespace

void fit(Encoder& e, const Table& table, const at::Tensor& rows, const TableSection& options) {
  std::vector<bool> mask = mask_of(rows, table.rows);
  if (e.missing == "drop") {
    leave_out_missing(table, e.features.size(), mask);
    require_rows(mask);
  }
  const Scale::Kind kind = scale_named(options.normalise);
  // One thread handles a whole column, so the order of its sums does not depend on the number of threads.
  at::parallel_for(0, static_cast<std::int64_t>(e.features.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      Encoder::Feature& feature = e.features[i];
      if (feature.is_category) {
        feature.values = distinct(table, i, mask, Equal::bytes);
      } else if (kind != Scale::Kind::none || e.missing == "mean") {
        const ColumnFit fitted = fit_numbers(table, i, mask);
        feature.scale = fitted.scale(kind);
        if (e.missing == "mean") feature.fill = fitted.mean();
      }
    }
  });
  if (e.width() == 0) throw usage_error("have no value in the training rows: no input is left", "dataset.categories");
  fit_targets(e, table, mask, options);
}

ValueNames distinct_values(const Table& table, std::size_t column, const at::Tensor& rows) {
  return distinct(table, column, mask_of(rows, table.rows), Equal::numbers);
}

at::Tensor numbers_of(const Table& table, std::size_t column, const ValueNames& values) {
  at::Tensor numbers = at::empty({table.rows}, at::kLong);
  std::int64_t* next = numbers.mutable_data_ptr<std::int64_t>();
  for (const Table::Piece& piece : table.pieces) {
    const ColumnCells& cells = piece.chunk.columns[column];
    for (std::int64_t r = 0; r < piece.chunk.rows; ++r) {
      *next++ = cells.is_missing(r) ? -1 : values.find(cells.text_of(r));
    }
  }
  return numbers;
}

}  // namespace ddp::datasets
