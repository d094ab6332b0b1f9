#include <ATen/ops/relu.h>

#include "models/linear.h"
#include "models/model.h"

namespace ddp::models {
namespace {

// The parts are built on the CPU, where Python draws their weights, and then moved to their devices.
struct ToyMpImpl : torch::nn::Module {
  explicit ToyMpImpl(const Placement& placement) : first(placement.devices.front()), last(placement.devices.back()) {
    net1 = register_module("net1", Linear(10, 10));
    net1->to(first);
    net2 = register_module("net2", Linear(10, 5));
    net2->to(last);
  }
  at::Tensor forward(at::Tensor x) { return net2(at::relu(net1(x.to(first))).to(last)); }

  c10::Device first;
  c10::Device last;
  Linear net1{nullptr};
  Linear net2{nullptr};
};

const bool toy_mp_registered = registry().add<config::NoOptions>(
    "toy_mp", "ToyMpModel of PyTorch's DDP tutorial: toy with one layer on the rank's first device and one on its last",
    [](const config::NoOptions&, const Placement& placement) {
      return torch::nn::AnyModule(std::make_shared<ToyMpImpl>(placement));
    },
    {{"devices", 2}, {"same_calls", true}});

}  // namespace
}  // namespace ddp::models
