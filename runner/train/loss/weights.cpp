#include "train/loss/weights.h"

#include <vector>

#include <ATen/ops/tensor.h>

#include "base/error.h"

namespace ddp::train {

at::Tensor weights_of(const config::Value& list, const std::string& key, const std::string& each) {
  if (list.empty())
    throw usage_error("is an empty list", key, "give one weight for each " + each + ", or leave it out");
  return at::tensor(list.get<std::vector<double>>(), at::kFloat);
}

}  // namespace ddp::train
