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
  // `held`: what MapDataset::held() returns. Throws ddp::Error (usage) where the numbers of rows differ.
  Arrays(std::vector<ArrayRows> inputs, std::vector<ArrayRows> targets, const Context& context, NamedTensors held = {});

  std::int64_t size() const override { return inputs_.front().rows(); }
  Batch gather(const at::Tensor& indices, std::int64_t epoch) const override;
  bool in_memory() const override;
  // Of one integer target of shape [n] or [n, 1]: -1 where the target does not count. Without targets, as for a
  // prediction, there are none.
  at::Tensor classes() const override;
  // "rows"; of one integer target "num_classes", the largest number that counts plus one. Throws ddp::Error (usage)
  // where a class that counts is negative.
  config::Value facts() const override;
  config::Value describe() const override;
  NamedTensors held() const override { return held_; }

 private:
  const std::vector<ArrayRows> inputs_;
  const std::vector<ArrayRows> targets_;
  const std::int64_t ignored_;  // targets of this class do not count
  const NamedTensors held_;
};

// Options of all of them; `doc` of inputs and targets says what they name.
struct ArrayOptions {
  config::Value inputs;
  config::Value targets;
  std::optional<double> scale;

  Conversion of_inputs() const {
    return {.to_float = scale.has_value(), .scale = static_cast<float>(scale.value_or(1))};
  }
  // None for a prediction. Throws ddp::Error (usage) where the option names nothing.
  std::vector<std::string> target_names(Role role) const;
  void fields(config::Fields& f, const std::string& are, bool paths);
};

// Options of a file that holds several arrays by name.
struct NamedArrayOptions {
  config::Value path;
  ArrayOptions arrays;
  void fields(config::Fields& f);
};

// Returns the array of a name in a file, the files being numbered.
using FindArray = std::function<format::Array(std::size_t file, const std::string& name)>;

// Returns rows for each of these names: those of the first file, then those of the next.
std::vector<ArrayRows> named_rows(const std::vector<std::string>& names, std::size_t files, Conversion conversion,
                                  const FindArray& find);

// Returns a name that is not in the list yet: of two files of one name the second becomes "x_2".
std::string unused_name(const std::string& name, const std::vector<ArrayRows>& taken);

}  // namespace ddp::datasets
