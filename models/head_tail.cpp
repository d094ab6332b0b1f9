
#include "models/linear.h"
#include "models/model.h"

namespace ddp::models {
namespace {

// The parts are built on the CPU, where Python draws their weights, and then moved to their devices.
struct HeadTailImpl : torch::nn::Module {
  explicit HeadTailImpl(const Placement& placement) : first(placement.devices.front()), last(placement.devices.back()) {
    head = register_module("head", Linear(32, 32));
    head->to(first);
    tail = register_module("tail", Linear(32, 10));
    tail->to(last);
  }
  // The result goes back to the first device, where the targets are.
  at::Tensor forward(at::Tensor x) { return tail(head(x.to(first)).to(last)).to(first); }

  c10::Device first;
  c10::Device last;
  Linear head{nullptr};
  Linear tail{nullptr};
};

const bool head_tail_registered = registry().add<config::NoOptions>(
    "head_tail", "head Linear(32, 32) on the rank's first device, tail Linear(32, 10) on its last",
    [](const config::NoOptions&, const Placement& placement) {
      return torch::nn::AnyModule(std::make_shared<HeadTailImpl>(placement));
    },
    {{"devices", 2}, {"same_calls", true}});

}  // namespace
}  // namespace ddp::models
