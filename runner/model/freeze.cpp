#include "model/freeze.h"

#include <algorithm>

#include <torch/nn/module.h>

#include "base/error.h"
#include "model/name_pattern.h"
#include "model/named_tensors.h"

namespace ddp::model {
namespace {

constexpr const char* kFreezeKey = "freeze";

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
  if (patterns.empty()) return;
  const NamedTensors parameters = named(module.named_parameters());
  std::string unmatched;
  for (const std::string& pattern : patterns) {
    if (!freeze_matches(parameters, pattern)) unmatched += (unmatched.empty() ? "\"" : ", \"") + pattern + "\"";
  }
  if (!unmatched.empty()) {
    const std::string example = parameters.empty() ? "" : ", such as \"" + parameters.front().first + "\"";
    throw usage_error("matches no parameter of the model: " + unmatched, kFreezeKey,
                      "use the names of state_dict()" + example + "; * stands for any characters");
  }
  const bool trains = std::any_of(parameters.begin(), parameters.end(),
                                  [](const auto& parameter) { return parameter.second.requires_grad(); });
  if (!trains) throw usage_error("freezes every parameter of the model", kFreezeKey, "leave some parameters to train");
}

}  // namespace ddp::model
