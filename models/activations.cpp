#include "models/activations.h"

#include <algorithm>

#include <torch/nn/modules/activation.h>

#include "base/error.h"
#include "models/layers.h"

namespace ddp::models {
namespace {

using torch::nn::AnyModule;

struct GeluOptions {
  std::string approximate = "none";
  void fields(config::Fields& f) {
    f({.name = "approximate", .doc = "\"tanh\": a faster approximation", .choices = {"none", "tanh"}}, approximate);
  }
};

struct LeakyReluOptions {
  double negative_slope = 0.01;
  void fields(config::Fields& f) { f({.name = "negative_slope", .doc = "slope below 0"}, negative_slope); }
};

struct EluOptions {
  double alpha = 1;
  void fields(config::Fields& f) { f({.name = "alpha", .doc = "-alpha is the limit for small x"}, alpha); }
};

struct SoftmaxOptions {
  std::int64_t dim = -1;
  void fields(config::Fields& f) { f({.name = "dim", .doc = "dimension whose values add up to 1"}, dim); }
};

// The trait of a layer that `activation` options can name. Its value is the name in these options.
constexpr const char* kOptionName = "activation";

config::Value option_named(const char* option_name) { return {{kOptionName, option_name}, {"same_calls", true}}; }

template <class Module>
AnyModule plain(const NoOptions&) {
  return AnyModule(Module());
}

const bool relu_registered = layers().add<NoOptions>("ReLU", "max(0, x)", plain<torch::nn::ReLU>, option_named("relu"));

const bool tanh_registered = layers().add<NoOptions>("Tanh", "tanh(x)", plain<torch::nn::Tanh>, option_named("tanh"));

const bool sigmoid_registered =
    layers().add<NoOptions>("Sigmoid", "1 / (1 + exp(-x))", plain<torch::nn::Sigmoid>, option_named("sigmoid"));

const bool silu_registered =
    layers().add<NoOptions>("SiLU", "x * sigmoid(x)", plain<torch::nn::SiLU>, option_named("silu"));

const bool gelu_registered = layers().add<GeluOptions>(
    "GELU", "x * Phi(x), with the normal distribution's Phi",
    [](const GeluOptions& o) {
      return AnyModule(torch::nn::GELU(torch::nn::GELUOptions().approximate(o.approximate)));
    },
    option_named("gelu"));

const bool leaky_relu_registered = layers().add<LeakyReluOptions>(
    "LeakyReLU", "x, or negative_slope * x below 0",
    [](const LeakyReluOptions& o) {
      return AnyModule(torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(o.negative_slope)));
    },
    option_named("leaky_relu"));

const bool elu_registered = layers().add<EluOptions>(
    "ELU", "x, or alpha * (exp(x) - 1) below 0",
    [](const EluOptions& o) { return AnyModule(torch::nn::ELU(torch::nn::ELUOptions().alpha(o.alpha))); },
    {{"same_calls", true}});

const bool softmax_registered = layers().add<SoftmaxOptions>(
    "Softmax", "exp(x) over its sum",
    [](const SoftmaxOptions& o) { return AnyModule(torch::nn::Softmax(torch::nn::SoftmaxOptions(o.dim))); },
    {{"same_calls", true}});

const bool log_softmax_registered = layers().add<SoftmaxOptions>(
    "LogSoftmax", "the logarithm of Softmax, for the loss nll",
    [](const SoftmaxOptions& o) { return AnyModule(torch::nn::LogSoftmax(torch::nn::LogSoftmaxOptions(o.dim))); },
    {{"same_calls", true}});

}  // namespace

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const auto& layer : layers().names()) {
    const auto& traits = layers().traits(layer);
    if (traits.contains(kOptionName)) names.push_back(traits.at(kOptionName));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string activation_layer(const std::string& name) {
  for (const auto& layer : layers().names()) {
    if (layers().traits(layer).value(kOptionName, "") == name) return layer;
  }
  throw usage_error("unknown activation \"" + name + "\"");
}

AnyModule make_activation(const std::string& name) {
  return layers().build(activation_layer(name), config::Value::object());
}

}  // namespace ddp::models
