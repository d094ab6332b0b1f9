#include "models/activations.h"

#include <functional>
#include <map>

#include <torch/nn/modules/activation.h>

#include "base/error.h"

namespace ddp::models {
namespace {

template <class Module>
torch::nn::AnyModule make() {
  return torch::nn::AnyModule(Module());
}

const std::map<std::string, std::function<torch::nn::AnyModule()>>& activations() {
  static const std::map<std::string, std::function<torch::nn::AnyModule()>> known{
      {"relu", make<torch::nn::ReLU>}, {"tanh", make<torch::nn::Tanh>},
      {"gelu", make<torch::nn::GELU>}, {"sigmoid", make<torch::nn::Sigmoid>},
      {"silu", make<torch::nn::SiLU>}, {"leaky_relu", make<torch::nn::LeakyReLU>},
  };
  return known;
}

}  // namespace

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const auto& [name, build] : activations()) names.push_back(name);
  return names;
}

torch::nn::AnyModule make_activation(const std::string& name) {
  const auto found = activations().find(name);
  if (found == activations().end()) throw usage_error("there is no activation \"" + name + "\"");
  return found->second();
}

}  // namespace ddp::models
