#include "dist/parallel/data_parallel.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <torch/nn/parallel/data_parallel.h>

#include "base/error.h"
#include "dist/parallel/parallel.h"
#include "model/call.h"
#include "model/generators.h"
#include "model/numerics.h"

namespace ddp::dist {
namespace {

// The inputs of one device: its chunk of each input.
using Chunks = std::vector<at::Tensor>;

// A copy of the module on a device, with its inputs. parallel_apply calls forward() with only one tensor, so the inputs
// are stored here.
struct Replica {
  at::Tensor forward(const at::Tensor&) {
    casts.set();  // the thread is new and has no autocast state
    return model::main_output(model::call(module, inputs));
  }
  torch::nn::AnyModule module;
  model::CastsOfThread casts;
  Chunks inputs = {};
};
using Replicas = std::vector<std::shared_ptr<Replica>>;

// The same as torch::nn::parallel::replicate, which does not take an AnyModule.
Replicas replicate(const torch::nn::AnyModule& module, const std::vector<c10::Device>& devices) {
  // clone() builds new layers, which draws initial weights, before it copies the weights. Python's replicate() draws
  // nothing.
  const model::UntouchedGenerator guard(at::detail::getDefaultCPUGenerator());
  Replicas replicas;
  std::vector<std::shared_ptr<torch::nn::Module>> modules;
  for (const auto& device : devices) {
    replicas.push_back(std::make_shared<Replica>(Replica{module.clone(device), model::CastsOfThread(device.type())}));
    modules.push_back(replicas.back()->module.ptr());
  }
  torch::nn::replicate_grad_edges(module.ptr(), modules, devices);
  return replicas;
}

std::vector<at::Tensor> apply(Replicas& replicas, const std::vector<c10::Device>& devices) {
  std::vector<at::Tensor> first_inputs;
  for (const auto& replica : replicas) first_inputs.push_back(replica->inputs.front());
  // CPU copies share one generator, and concurrent draws would give different bits each time. So they run in turn.
  const bool in_turn = devices.front().is_cpu() && at::get_num_threads() > 1;
  if (!in_turn) return torch::nn::parallel::parallel_apply(replicas, first_inputs, devices);
  std::vector<at::Tensor> outputs;
  for (std::size_t i = 0; i < replicas.size(); ++i) outputs.push_back(replicas[i]->forward(first_inputs[i]));
  return outputs;
}

// Copies the buffers that the first copy's forward changed, such as running statistics of batch norm, to the module.
void keep_buffers(torch::nn::Module& module, const torch::nn::Module& first_copy) {
  const at::NoGradGuard no_grad;
  const auto now = first_copy.named_buffers();
  for (auto& buffer : module.named_buffers()) buffer.value().copy_(now[buffer.key()]);
}

}  // namespace

at::Tensor data_parallel(torch::nn::AnyModule& module, const std::vector<at::Tensor>& inputs,
                         const std::vector<c10::Device>& devices) {
  std::vector<Chunks> of_devices;
  for (const at::Tensor& input : inputs) {
    // Scatter and Gather work only on CUDA. chunk and cat give the same tensors and gradients on any device.
    const std::vector<at::Tensor> chunks = input.chunk(static_cast<std::int64_t>(devices.size()));
    // A short batch may give fewer chunks than devices.
    of_devices.resize(chunks.size());
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      // Always copy the chunk, even if the batch is on this device: MKL's sums depend on the memory alignment.
      of_devices[i].push_back(chunks[i].to(devices[i], /*non_blocking=*/true, /*copy=*/true));
    }
  }
  const std::vector<c10::Device> used(devices.begin(),
                                      devices.begin() + static_cast<std::ptrdiff_t>(of_devices.size()));
  Replicas replicas = replicate(module, used);
  for (std::size_t i = 0; i < replicas.size(); ++i) replicas[i]->inputs = std::move(of_devices[i]);
  std::vector<at::Tensor> outputs = apply(replicas, used);
  keep_buffers(*module.ptr(), *replicas.front()->module.ptr());
  for (auto& output : outputs) output = output.to(devices.front());
  return at::cat(outputs);
}

void require_cloneable(const torch::nn::Module& module) {
  const model::UntouchedGenerator guard(at::detail::getDefaultCPUGenerator());
  try {
    // Check each submodule: a part that cannot be copied would silently get new initial weights in a clone.
    for (const auto& part : module.modules()) part->clone();
  } catch (const c10::Error& error) {
    throw usage_error("this model cannot be copied onto several devices: " + error.msg(), "model",
                      "derive it from torch::nn::Cloneable and build its parts in reset(), or use parallel = \"ddp\"");
  }
}

namespace {

// One process that splits each batch over all of its devices.
class DataParallel : public Parallel {
 public:
  explicit DataParallel(const ParallelParts& parts) : Parallel(parts.module), devices_(parts.devices) {}

  void start(const Buckets&) override {
    if (devices_.size() > 1) require_cloneable(*module().ptr());
  }
  NamedTensors forward(const std::vector<at::Tensor>& inputs) override {
    if (devices_.size() == 1) return model::call(module(), inputs);
    return model::one_output(data_parallel(module(), inputs, devices_));
  }

 private:
  const std::vector<c10::Device> devices_;
};

const bool data_parallel_registered = parallels().add<NoParallelOptions>(
    "data_parallel", "PyTorch's DataParallel: one process that splits each batch over its devices",
    [](const NoParallelOptions&, const ParallelParts& parts) -> std::unique_ptr<Parallel> {
      return std::make_unique<DataParallel>(parts);
    },
    {{"devices", "all"}});

}  // namespace
}  // namespace ddp::dist
