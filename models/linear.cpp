#include "models/linear.h"

#include <cmath>

#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <torch/nn/init.h>

#include "models/model.h"

namespace ddp::models {

LinearImpl::LinearImpl(std::int64_t in_features, std::int64_t out_features, bool with_bias)
    : in_features_(in_features), out_features_(out_features), with_bias_(with_bias) {
  reset();
}

void LinearImpl::reset() {
  weight = register_parameter("weight", at::empty({out_features_, in_features_}));
  torch::nn::init::kaiming_uniform_(weight, std::sqrt(5));
  if (!with_bias_) return;
  bias = register_parameter("bias", at::empty({out_features_}));
  const double bound = 1 / std::sqrt(static_cast<double>(in_features_));
  torch::nn::init::uniform_(bias, -bound, bound);
}

at::Tensor LinearImpl::forward(const at::Tensor& x) { return at::linear(x, weight, bias); }

namespace {

struct LinearOptions {
  std::int64_t in_features = 20;
  std::int64_t out_features = 1;
  void fields(config::Fields& f) {
    f({.name = "in_features", .doc = "values of a sample", .range = config::at_least(1)}, in_features);
    f({.name = "out_features", .doc = "values of the prediction", .range = config::at_least(1)}, out_features);
  }
};

const bool linear_registered =
    registry().add<LinearOptions>("linear", "one torch.nn.Linear with the parameters weight and bias",
                                  [](const LinearOptions& o, const Placement&) {
                                    return torch::nn::AnyModule(Linear(o.in_features, o.out_features));
                                  },
                                  {{"same_calls", true}});

}  // namespace
}  // namespace ddp::models
