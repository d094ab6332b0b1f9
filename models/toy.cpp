#include <ATen/ops/relu.h>

#include "models/linear.h"
#include "models/model.h"

namespace ddp::models {
namespace {

struct ToyImpl : torch::nn::Cloneable<ToyImpl> {
  ToyImpl() { reset(); }
  void reset() override {
    net1 = register_module("net1", Linear(10, 10));
    net2 = register_module("net2", Linear(10, 5));
  }
  at::Tensor forward(at::Tensor x) { return net2(at::relu(net1(x))); }

  Linear net1{nullptr};
  Linear net2{nullptr};
};

const bool toy_registered = registry().add<config::NoOptions>(
    "toy", "ToyModel of PyTorch's DDP tutorial: Linear(10, 10), ReLU, Linear(10, 5)",
    [](const config::NoOptions&, const Placement&) { return torch::nn::AnyModule(std::make_shared<ToyImpl>()); },
    {{"same_calls", true}});

}  // namespace
}  // namespace ddp::models
