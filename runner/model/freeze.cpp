#include "model/freeze.h"

#include <torch/nn/module.h>

#include "base/error.h"
#include "model/name_pattern.h"
#include "model/named_tensors.h"

namespace ddp::model {
namespace {

constexpr const char* kFreezeKey = "freeze";

bool any_trains(const NamedTensors& parameters) { return !trained_of(parameters).empty(); }

// Throws the error of a model that has nothing to train even if nothing is frozen.
void require_trainable(const NamedTensors& parameters) {
  if (parameters.empty()) {
    throw usage_error("the model has no parameters, so there is nothing to train", "model",
                      "use a model with parameters; buffers are not trained");
  }
  if (any_trains(parameters)) return;
  throw usage_error("the model has requires_grad = False in every parameter, so there is nothing to train", "model",
                    "call requires_grad_(True) on the parameters to train, and export the model again");
}

bool freeze_matches(const NamedTensors& parameters, const std::string& pattern) {
  bool any = false;
  for (const auto& [name, tensor] : parameters) {
    if (!matches_name(pattern, name)) continue;
    tensor.requires_grad_(false);
    any = true;
  }
  return any;
}

}  // namespace

void freeze(torch::nn::Module& module, const std::vector<std::string>& patterns) {
  const NamedTensors parameters = named(module.named_parameters());
  require_trainable(parameters);
  std::string unmatched;
  for (const std::string& pattern : patterns) {
    if (!freeze_matches(parameters, pattern)) unmatched += (unmatched.empty() ? "\"" : ", \"") + pattern + "\"";
  }
  if (!unmatched.empty()) {
    throw usage_error(
        "matches no parameter of the model: " + unmatched, kFreezeKey,
        "use the names of state_dict(), such as \"" + parameters.front().first + "\"; * stands for any characters");
  }
  if (any_trains(parameters)) return;
  throw usage_error("freezes every parameter of the model", kFreezeKey, "leave some parameters to train");
}

}  // namespace ddp::model
