#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/bit_util.h>

#include "tables/cell.h"

namespace ddp::tables {

// A bitmap of valid cells: all of these rows.
inline arrow::Result<std::shared_ptr<arrow::Buffer>> all_valid(std::int64_t rows) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> valid, arrow::AllocateBitmap(rows));
  std::memset(valid->mutable_data(), 0xff, static_cast<std::size_t>(valid->size()));
  return valid;
}

// A column of doubles that grows row by row, up to a known number of rows.
class NumberColumn {
 public:
  arrow::Status reserve(std::int64_t rows) {
    most_ = rows;
    ARROW_ASSIGN_OR_RAISE(values_, arrow::AllocateBuffer(rows * static_cast<std::int64_t>(sizeof(double))));
    next_ = reinterpret_cast<double*>(values_->mutable_data());
    return arrow::Status::OK();
  }
  void add(double number) { *next_++ = number; }
  // Fails if the cell is not a number.
  arrow::Status add(std::string_view cell, bool is_quoted, const MissingCells& missing) {
    const std::optional<double> number = parse_number(cell);
    if (number ? missing.holds(*number) : missing.holds(cell, is_quoted)) return add_missing();
    if (!number) return arrow::Status::Invalid("a cell is not a number");
    add(*number);
    return arrow::Status::OK();
  }
  std::shared_ptr<arrow::Array> finish(std::int64_t rows) {
    return std::make_shared<arrow::DoubleArray>(rows, std::move(values_), std::move(valid_), missing_);
  }

 private:
  arrow::Status add_missing() {
    // The bitmap of valid cells is allocated at the first missing cell.
    if (valid_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(valid_, all_valid(most_));
    }
    arrow::bit_util::ClearBit(valid_->mutable_data(), next_ - reinterpret_cast<double*>(values_->mutable_data()));
    *next_++ = 0;
    ++missing_;
    return arrow::Status::OK();
  }

  std::int64_t most_ = 0;
  std::shared_ptr<arrow::Buffer> values_;
  std::shared_ptr<arrow::Buffer> valid_;
  double* next_ = nullptr;
  std::int64_t missing_ = 0;
};

// A column of text that grows row by row. A missing cell keeps its text.
class TextColumn {
 public:
  arrow::Status add(std::string_view cell, bool is_quoted, const MissingCells& missing) {
    if (missing.holds(cell, is_quoted)) missing_.push_back(texts_.length());
    return texts_.Append(cell);
  }
  arrow::Result<std::shared_ptr<arrow::Array>> finish() {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> texts, texts_.Finish());
    if (missing_.empty()) return texts;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> valid, all_valid(texts->length()));
    for (const std::int64_t row : missing_) arrow::bit_util::ClearBit(valid->mutable_data(), row);
    const std::shared_ptr<arrow::ArrayData> data = texts->data()->Copy();
    data->buffers[0] = std::move(valid);
    data->null_count = std::ssize(missing_);
    return arrow::MakeArray(data);
  }

 private:
  arrow::StringBuilder texts_;
  std::vector<std::int64_t> missing_;  // rows
};

}  // namespace ddp::tables
