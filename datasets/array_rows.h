#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "format/array.h"

namespace ddp::datasets {

// How the numbers of arrays become those of a batch.
struct Conversion {
  bool to_float = false;  // integers become float32, too; otherwise only floats do, and integers become int64
  float scale = 1;        // what becomes float32 is multiplied by it
};

// One input or one target: the rows of some arrays, one array after the other. They stay as they are in their files; a
// gather reads and converts the rows that it is asked for, and no others.
class ArrayRows {
 public:
  // Throws ddp::Error (usage) where the arrays do not fit together, and where their rows hold no numbers.
  ArrayRows(std::string name, std::vector<format::Array> parts, Conversion conversion);

  const std::string& name() const { return name_; }
  // The files, as errors show them.
  std::string shown() const;
  std::int64_t rows() const { return starts_.back(); }
  // Of a row.
  const std::vector<std::int64_t>& shape() const { return shape_; }
  // at::kFloat or at::kLong.
  at::ScalarType type() const { return type_; }
  // The type of the numbers in the files, in NumPy's words: "uint8". Of several files: that of the first.
  std::string stored_type() const { return format::name_of(parts_.front().array.element); }
  // As they are in the files.
  std::int64_t bytes() const;

  // Returns the rows at `indices` (int64 [n], each in [0, rows())), [n, …], as a fresh contiguous tensor. Throws
  // ddp::Error (usage) where an unsigned number does not fit into int64.
  at::Tensor gather(const at::Tensor& indices) const;
  // The same of the rows from `begin` up to `end`.
  at::Tensor range(std::int64_t begin, std::int64_t end) const;

 private:
  // Converts `count` numbers that lie `stride` bytes apart. Returns false where one does not fit.
  using Convert = bool (*)(const char* from, std::int64_t stride, std::int64_t count, void* to, float scale);

  // One of the arrays, and how its rows are read.
  struct Part {
    format::Array array = {};
    std::int64_t runs = 1;   // how many pieces of a row there are whose numbers have one distance
    std::int64_t count = 1;  // numbers of a piece
    std::int64_t stride = 0;
    bool as_it_is = false;  // the bytes of a row are those of the batch
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
  std::vector<std::int64_t> starts_ = {0};  // of each part, and the end of the last
};

}  // namespace ddp::datasets
