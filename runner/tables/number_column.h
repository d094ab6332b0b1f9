#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/bit_util.h>

namespace ddp::tables {

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
  arrow::Status add_missing() {
    // The bitmap of valid cells is allocated at the first missing cell.
    if (valid_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(valid_, arrow::AllocateBitmap(most_));
      std::memset(valid_->mutable_data(), 0xff, static_cast<std::size_t>(valid_->size()));
    }
    arrow::bit_util::ClearBit(valid_->mutable_data(), next_ - reinterpret_cast<double*>(values_->mutable_data()));
    *next_++ = 0;
    ++missing_;
    return arrow::Status::OK();
  }
  std::shared_ptr<arrow::Array> finish(std::int64_t rows) {
    return std::make_shared<arrow::DoubleArray>(rows, std::move(values_), std::move(valid_), missing_);
  }

 private:
  std::int64_t most_ = 0;
  std::shared_ptr<arrow::Buffer> values_;
  std::shared_ptr<arrow::Buffer> valid_;
  double* next_ = nullptr;
  std::int64_t missing_ = 0;
};

}  // namespace ddp::tables
