#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "config/value.h"

namespace ddp::train {

// Returns a list of numbers as float32. `key` and `each` name it in an error: "loss.weight", "class". Throws ddp::Error
// (usage) if the list is empty.
at::Tensor weights_of(const config::Value& list, const std::string& key, const std::string& each);

}  // namespace ddp::train
