#include "dist/parallel/data_parallel.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <torch/nn/parallel/data_parallel.h>

#include "base/error.h"

namespace ddp::dist {
namespace {

// A copy of the module on a device, as parallel_apply wants it: it calls forward() of what a pointer points to, and an
// AnyModule's is a template.
struct Replica {
  at::Tensor forward(const at::Tensor& input) { return module.forward(input); }
  torch::nn::AnyModule module;
};
using Replicas = std::vector<std::shared_ptr<Replica>>;

// clone() builds each layer anew, which draws initial weights, before it copies the weights over them. Python's
// replicate() draws nothing.
class UntouchedGenerator {
 public:
  UntouchedGenerator() : generator_(at::detail::getDefaultCPUGenerator()), state_(generator_.get_state()) {}
  ~UntouchedGenerator() { generator_.set_state(state_); }
  UntouchedGenerator(const UntouchedGenerator&) = delete;
  UntouchedGenerator& operator=(const UntouchedGenerator&) = delete;

 private:
  at::Generator generator_;
  const at::Tensor state_;
};

// torch::nn::parallel::replicate, which takes no AnyModule.
Replicas replicate(const torch::nn::AnyModule& module, const std::vector<c10::Device>& devices) {
  const UntouchedGenerator guard;
  Replicas replicas;
  std::vector<std::shared_ptr<torch::nn::Module>> modules;
  for (const auto& device : devices) {
    replicas.push_back(std::make_shared<Replica>(Replica{module.clone(device)}));
    modules.push_back(replicas.back()->module.ptr());
  }
  torch::nn::replicate_grad_edges(module.ptr(), modules, devices);
  return replicas;
}

std::vector<at::Tensor> apply(Replicas& replicas, const std::vector<at::Tensor>& inputs,
                              const std::vector<c10::Device>& devices) {
  // CPUs share one generator: threads that draw from it at the same time would give other bits each time.
  const bool in_turn = devices.front().is_cpu() && at::get_num_threads() > 1;
  if (!in_turn) return torch::nn::parallel::parallel_apply(replicas, inputs, devices);
  std::vector<at::Tensor> outputs;
  for (std::size_t i = 0; i < replicas.size(); ++i) outputs.push_back(replicas[i]->forward(inputs[i]));
  return outputs;
}

// What the first copy's forward did to its buffers (a batch norm's running statistics) is the module's.
void keep_buffers(torch::nn::Module& module, const torch::nn::Module& first_copy) {
  const at::NoGradGuard no_grad;
  const auto now = first_copy.named_buffers();
  for (auto& buffer : module.named_buffers()) buffer.value().copy_(now[buffer.key()]);
}

}  // namespace

at::Tensor data_parallel(torch::nn::AnyModule& module, const at::Tensor& input,
                         const std::vector<c10::Device>& devices) {
  // Not Scatter and Gather, which are CUDA's alone: chunk and cat give the same tensors and gradients on any device.
  std::vector<at::Tensor> inputs = input.chunk(static_cast<std::int64_t>(devices.size()));
  // A short batch may have fewer chunks than there are devices.
  const std::vector<c10::Device> used(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    // A chunk of its own on each device, even on the one that the batch is on: MKL's sums depend on where it starts.
    inputs[i] = inputs[i].to(used[i], /*non_blocking=*/true, /*copy=*/true);
  }
  Replicas replicas = replicate(module, used);
  std::vector<at::Tensor> outputs = apply(replicas, inputs, used);
  keep_buffers(*module.ptr(), *replicas.front()->module.ptr());
  for (auto& output : outputs) output = output.to(devices.front());
  return at::cat(outputs);
}

void require_cloneable(const torch::nn::Module& module) {
  const UntouchedGenerator guard;
  try {
    // Each one: a part that cannot be copied keeps a clone's fresh weights, and LibTorch says nothing.
    for (const auto& part : module.modules()) part->clone();
  } catch (const c10::Error& error) {
    throw usage_error("this model cannot be copied onto several devices: " + error.msg(), "model",
                      "derive it from torch::nn::Cloneable and build its parts in reset(), or use parallel = \"ddp\"");
  }
}

}  // namespace ddp::dist
