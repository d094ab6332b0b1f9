#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "format/array.h"

namespace ddp::datasets {

// The conversion from the numbers of an array to the numbers of a batch.
struct Conversion {
  bool to_float = false;  // integers become float32; otherwise they become int64 (floats always become float32)
  float scale = 1;        // factor of the numbers that become float32
};

// One input or one target: the rows of several arrays, one array after the other. The numbers stay in their files as
// they are; a gather reads and converts only the requested rows.
class ArrayRows {
 public:
  // Throws ddp::Error (usage) if the arrays do not fit together or their rows hold no numbers.
  ArrayRows(std::string name, std::vector<format::Array> parts, Conversion conversion);

  const std::string& name() const { return name_; }
  // The files, for messages.
  std::string shown() const;
  std::int64_t rows() const { return starts_.back(); }
  // The shape of a row.
  const std::vector<std::int64_t>& shape() const { return shape_; }
  // at::kFloat or at::kLong.
  at::ScalarType type() const { return type_; }
  // The type of the numbers in the first file, as NumPy names it: "uint8".
  std::string stored_type() const { return format::name_of(parts_.front().array.element); }
  // The size of all rows in the files.
  std::int64_t bytes() const;

  // Returns the rows at `indices` (int64 [n], each in [0, rows())), [n, …], as a fresh contiguous tensor. Throws
  // ddp::Error (usage) if an unsigned number does not fit into int64.
  at::Tensor gather(const at::Tensor& indices) const;
  // Returns the rows from `begin` up to, but not including, `end`, like gather().
  at::Tensor range(std::int64_t begin, std::int64_t end) const;

 private:
  // Converts `count` numbers that lie `stride` bytes apart. Returns false if a number does not fit.
  using Convert = bool (*)(const char* from, std::int64_t stride, std::int64_t count, void* to, float scale);

  // One of the arrays, and the layout of its rows. A row consists of runs, whose numbers lie at equal distances.
  struct Part {
    format::Array array = {};
    std::int64_t runs = 1;   // runs of a row
    std::int64_t count = 1;  // numbers of a run
    std::int64_t stride = 0;
    bool as_it_is = false;  // a row has the same bytes in the file and in the batch
    Convert convert = nullptr;
  };

  Part part_of(format::Array array) const;
  bool copy_row(const Part& part, std::int64_t row, char* to) const;

  std::string name_;
  Conversion conversion_;
  at::ScalarType type_ = at::kFloat;
  std::vector<std::int64_t> shape_;
  std::int64_t row_size_ = 1;
  std::vector<Part> parts_;
  std::vector<std::int64_t> starts_ = {0};  // the first row of each part, then the number of all rows
};

}  // namespace ddp::datasets
