#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/option/option.h"
#include "datasets/array_rows.h"
#include "datasets/dataset.h"

// The common parts of the datasets of arrays: npy, npz, safetensors.
namespace ddp::datasets {

// Sample i is row i of each input and each target.
class Arrays : public MapDataset {
 public:
  // `held` is the result of MapDataset::held(). Throws ddp::Error (usage) if the numbers of rows differ.
  Arrays(std::vector<ArrayRows> inputs, std::vector<ArrayRows> targets, const Context& context, NamedTensors held = {});

  std::int64_t size() const override { return inputs_.front().rows(); }
  Batch gather(const at::Tensor& indices, std::int64_t epoch) const override;
  bool in_memory() const override;
  // Defined if the only target holds integers and has the shape [n] or [n, 1]; -1 marks a target that does not count.
  at::Tensor classes() const override;
  bool check_targets(const std::function<void(const at::Tensor& targets)>& check) const override;
  // "rows", and, if the only target holds integers, "num_classes": the largest number that counts plus one; absent if
  // no target counts. Throws ddp::Error (usage) if a class that counts is negative.
  config::Value facts() const override;
  config::Value describe() const override;
  // Warns of classes that seem to count from 1.
  std::vector<std::string> warnings() const override;
  NamedTensors held() const override { return held_; }

 private:
  const std::vector<ArrayRows> inputs_;
  const std::vector<ArrayRows> targets_;
  const std::int64_t ignored_;  // class of the targets that do not count
  const bool trains_;           // are these the training samples?
  const NamedTensors held_;
};

// The options that these datasets share.
struct ArrayOptions {
  config::Value inputs;
  config::Value targets;
  std::optional<double> scale;

  Conversion of_inputs() const {
    return {.to_float = scale.has_value(), .scale = static_cast<float>(scale.value_or(1))};
  }
  // Empty for a prediction. Throws ddp::Error (usage) if the option is empty.
  std::vector<std::string> target_names(Role role) const;
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
