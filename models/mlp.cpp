#include <optional>

#include <torch/nn/modules/dropout.h>

#include "models/activations.h"
#include "models/chain.h"
#include "models/linear.h"
#include "models/model.h"

namespace ddp::models {
namespace {

struct MlpOptions {
  std::optional<std::int64_t> in_features;
  std::vector<std::int64_t> hidden;
  std::optional<std::int64_t> out_features;
  std::string activation = "relu";
  double dropout = 0;
  void fields(config::Fields& f) {
    f({.name = "in_features",
       .doc = "values of a sample; default: taken from the data",
       .range = config::at_least(1),
       .from_data = "in_features"},
      in_features);
    f({.name = "hidden",
       .doc = "widths of the hidden layers",
       .aliases = {"hidden_layer_sizes", "hidden_sizes", "hidden_dims", "hidden_size"},
       .range = config::at_least(1),
       .required = true},
      hidden);
    f({.name = "out_features",
       .doc = "values of the prediction; default: number of the data's classes or target columns",
       .range = config::at_least(1),
       .from_data = "out_features"},
      out_features);
    f({.name = "activation", .doc = "activation after each hidden layer", .choices = activation_names()}, activation);
    f({.name = "dropout", .doc = "share of values to drop after each activation", .range = config::from_below(0, 1)},
      dropout);
  }
};

torch::nn::AnyModule make_mlp(const MlpOptions& o, const Placement&) {
  auto chain = std::make_shared<ChainImpl>();
  std::int64_t width = o.in_features.value();
  for (const std::int64_t hidden : o.hidden) {
    chain->append(torch::nn::AnyModule(Linear(width, hidden)));
    chain->append(make_activation(o.activation));
    if (o.dropout > 0) chain->append(torch::nn::AnyModule(torch::nn::Dropout(o.dropout)));
    width = hidden;
  }
  chain->append(torch::nn::AnyModule(Linear(width, o.out_features.value())));
  return torch::nn::AnyModule(chain);
}

const bool mlp_registered =
    registry().add<MlpOptions>("mlp", "multi-layer perceptron: Linear, activation, dropout if above 0, …, Linear",
                               make_mlp, {{"inputs", "rows"}, {"same_calls", true}});

}  // namespace
}  // namespace ddp::models
