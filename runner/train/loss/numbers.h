#pragma once

#include <string>

#include <ATen/core/Tensor.h>

namespace ddp::train {

// Checks the outputs and targets of the loss `name`, which compares number with number. Where Python only warns that it
// broadcasts, this is an error: it is never meant. Throws ddp::Error (usage).
void check_numbers(const std::string& name, const at::Tensor& output, const at::Tensor& target);

}  // namespace ddp::train
