#pragma once

#include <string>

#include <ATen/core/Tensor.h>

namespace ddp::train {

// Checks the outputs and targets of the loss `name`, which compares number with number. Throws ddp::Error (usage) if
// they are not floating point or differ in shape. Python only warns and broadcasts, which is never intended.
void check_numbers(const std::string& name, const at::Tensor& output, const at::Tensor& target);

}  // namespace ddp::train
