#include <torch/nn/modules/linear.h>

#include "models/model.h"

namespace ddp::models {
namespace {

struct LinearOptions {
  std::int64_t in_features = 20;
  std::int64_t out_features = 1;
  void fields(config::Fields& f) {
    f({.name = "in_features", .doc = "values of a sample", .range = config::at_least(1)}, in_features);
    f({.name = "out_features", .doc = "values of the prediction", .range = config::at_least(1)}, out_features);
  }
};

const bool linear_registered = registry().add<LinearOptions>(
    "linear", "one torch.nn.Linear with the parameters weight and bias", [](const LinearOptions& o, const Placement&) {
      return torch::nn::AnyModule(torch::nn::Linear(o.in_features, o.out_features));
    });

}  // namespace
}  // namespace ddp::models
