#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/option/fields.h"
#include "datasets/dataset.h"
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

// The common parts of the datasets of arrays: npy, npz, safetensors.

// Sample i is row i of each input and each target.
class Arrays : public MapDataset {
 public:
  // `held` is the result of MapDataset::held(). Throws ddp::Error (usage) if the numbers of rows differ.
  // `weights`: none, or one array of a number for each sample.
  Arrays(std::vector<ArrayRows> inputs, std::vector<ArrayRows> targets, std::vector<ArrayRows> weights,
         const Context& context, NamedTensors held = {});

  std::int64_t size() const override { return inputs_.front().rows(); }
  Batch gather(const at::Tensor& indices, std::int64_t epoch) const override;
  bool in_memory() const override;
  at::Tensor weights() const override { return weights_.empty() ? at::Tensor() : weights_.front().range(0, size()); }
  // Defined if the only target holds integers and has the shape [n] or [n, 1]; -1 marks a target that does not count.
  at::Tensor classes() const override;
  bool check_targets(const std::function<void(const at::Tensor& targets)>& check) const override;
  // "rows", and, if the only target holds integers, "num_classes": the largest number that counts plus one; absent if
  // no target counts. Throws ddp::Error (usage) if a class that counts is negative.
  config::Value facts() const override;
  config::DatasetDescription describe() const override;
  // Warns of classes that seem to count from 1.
  std::vector<std::string> warnings() const override;
  NamedTensors held() const override { return held_; }

 private:
  const std::vector<ArrayRows> inputs_;
  const std::vector<ArrayRows> targets_;
  const std::vector<ArrayRows> weights_;  // one, or none
  const std::int64_t ignored_;            // class of the targets that do not count
  const bool ignores_negative_;           // a graph computes the loss: negative classes do not count
  const bool trains_;                     // are these the training samples?
  const NamedTensors held_;
};

// The options that these datasets share.
struct ArrayOptions {
  config::Value inputs;
  config::Value targets;
  std::string weights;
  std::optional<double> scale;

  Conversion of_inputs() const {
    return {.to_float = scale.has_value(), .scale = static_cast<float>(scale.value_or(1))};
  }
  // Empty for a prediction, and for a loss that needs no target. Throws ddp::Error (usage) if the option is empty.
  std::vector<std::string> target_names(Role role) const;
  // The name of the array of weights; empty for a prediction, or without weights.
  std::vector<std::string> weight_names(Role role) const;
  // `are` describes an element of `inputs` and `targets`; `paths`: the elements are paths.
  void fields(config::Fields& f, const std::string& are, bool paths);
};

// The options of files that hold several arrays by name.
struct NamedArrayOptions {
  config::Value path;
  ArrayOptions arrays;
  void fields(config::Fields& f);
};

// Returns the array `name` of the file with the number `file`.
using FindArray = std::function<format::Array(std::size_t file, const std::string& name)>;

// Returns an ArrayRows for each name: the array's rows in the first file, then in the next file, ...
std::vector<ArrayRows> named_rows(const std::vector<std::string>& names, std::size_t files, Conversion conversion,
                                  const FindArray& find);

// Returns `name`, or, if the list has it already, `name` with a number: "x_2".
std::string unused_name(const std::string& name, const std::vector<ArrayRows>& taken);

}  // namespace ddp::datasets
