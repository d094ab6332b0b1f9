#include <torch/nn/modules/activation.h>

#include "models/layers.h"

namespace ddp::models {
namespace {

using torch::nn::AnyModule;

struct GeluOptions {
  std::string approximate = "none";
  void fields(config::Fields& f) {
    f({.name = "approximate", .doc = "tanh: an approximation", .choices = {"none", "tanh"}}, approximate);
  }
};

struct LeakyReluOptions {
  double negative_slope = 0.01;
  void fields(config::Fields& f) { f({.name = "negative_slope", .doc = "slope below 0"}, negative_slope); }
};

struct EluOptions {
  double alpha = 1;
  void fields(config::Fields& f) { f({.name = "alpha", .doc = "minus the limit below 0"}, alpha); }
};

struct SoftmaxOptions {
  std::int64_t dim = -1;
  void fields(config::Fields& f) { f({.name = "dim", .doc = "the dimension that adds up to 1"}, dim); }
};

template <class Module>
AnyModule plain(const NoOptions&) {
  return AnyModule(Module());
}

const bool layers_activation_registered =
    layers().add<NoOptions>("ReLU", "max(0, x)", plain<torch::nn::ReLU>) &&
    layers().add<NoOptions>("Tanh", "tanh(x)", plain<torch::nn::Tanh>) &&
    layers().add<NoOptions>("Sigmoid", "1 / (1 + exp(-x))", plain<torch::nn::Sigmoid>) &&
    layers().add<NoOptions>("SiLU", "x * sigmoid(x)", plain<torch::nn::SiLU>) &&
    layers().add<GeluOptions>("GELU", "x * the normal distribution's share below x",
                              [](const GeluOptions& o) {
                                return AnyModule(torch::nn::GELU(torch::nn::GELUOptions().approximate(o.approximate)));
                              }) &&
    layers().add<LeakyReluOptions>(
        "LeakyReLU", "x, or negative_slope * x below 0",
        [](const LeakyReluOptions& o) {
          return AnyModule(torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(o.negative_slope)));
        }) &&
    layers().add<EluOptions>(
        "ELU", "x, or alpha * (exp(x) - 1) below 0",
        [](const EluOptions& o) { return AnyModule(torch::nn::ELU(torch::nn::ELUOptions().alpha(o.alpha))); }) &&
    layers().add<SoftmaxOptions>("Softmax", "exp(x) over its sum", [](const SoftmaxOptions& o) {
      return AnyModule(torch::nn::Softmax(torch::nn::SoftmaxOptions(o.dim)));
    });

}  // namespace
}  // namespace ddp::models
