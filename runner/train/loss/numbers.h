#pragma once

#include <limits>
#include <string>

#include <ATen/core/Tensor.h>

#include "train/loss/loss.h"

namespace ddp::train {

// Checks the outputs and targets of the loss `name`, which compares number with number. Throws ddp::Error (usage) if
// they are not floating point or differ in shape. Python only warns and broadcasts, which is never intended.
void check_numbers(const std::string& name, const at::Tensor& output, const at::Tensor& target);

// The targets that a loss takes: numbers in a range.
struct TargetRange {
  double least = std::numeric_limits<float>::lowest();
  double most = std::numeric_limits<float>::max();
  std::string in_words = "finite numbers";
  std::string remedy = "leave out the samples without a target";
};

// Throws ddp::Error (usage), which names the first target that is not in the range or NaN.
void check_range(const std::string& name, const at::Tensor& targets, const TargetRange& range);

// Returns the loss `name`, which compares finite numbers with outputs of their shape: `mean` of both.
Loss loss_of_numbers(const std::string& name, LossFunction mean);

}  // namespace ddp::train
