#include "train/loss/loss.h"

#include "base/error.h"

namespace ddp::train {

LossRegistry& losses() {
  static LossRegistry instance("loss");
  return instance;
}

const at::Tensor& only_target(const NamedTensors& targets) {
  if (targets.size() == 1) return targets.front().second;
  std::string names;
  for (const auto& [name, tensor] : targets) names += (names.empty() ? "" : ", ") + name;
  throw usage_error("the dataset gives " + std::to_string(targets.size()) + " targets (" + names + ")", "loss",
                    "a loss takes one target: choose one in the dataset");
}

}  // namespace ddp::train
