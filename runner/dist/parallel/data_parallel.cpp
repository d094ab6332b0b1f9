#include "dist/parallel/data_parallel.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <torch/nn/parallel/data_parallel.h>

#include "base/error.h"
#include "dist/parallel/parallel.h"
#include "model/call.h"
#include "model/numerics.h"

namespace ddp::dist {
namespace {

// The inputs of one device: its chunk of each.
using Chunks = std::vector<at::Tensor>;

// A copy of the module on a device, with its inputs. parallel_apply calls forward() through a pointer and hands over
// one tensor only: the inputs stand here already.
struct Replica {
  at::Tensor forward(const at::Tensor&) {
    casts.set();  // in a thread of its own, which has none
    return model::call(module, inputs);
  }
  torch::nn::AnyModule module;
  model::CastsOfThread casts;
  Chunks inputs = {};
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
    replicas.push_back(std::make_shared<Replica>(Replica{module.clone(device), model::CastsOfThread(device.type())}));
    modules.push_back(replicas.back()->module.ptr());
  }
  torch::nn::replicate_grad_edges(module.ptr(), modules, devices);
  return replicas;
}

std::vector<at::Tensor> apply(Replicas& replicas, const std::vector<c10::Device>& devices) {
  std::vector<at::Tensor> first_inputs;
  for (const auto& replica : replicas) first_inputs.push_back(replica->inputs.front());
  // CPUs share one generator: threads that draw from it at the same time would give other bits each time.
  const bool in_turn = devices.front().is_cpu() && at::get_num_threads() > 1;
  if (!in_turn) return torch::nn::parallel::parallel_apply(replicas, first_inputs, devices);
  std::vector<at::Tensor> outputs;
  for (std::size_t i = 0; i < replicas.size(); ++i) outputs.push_back(replicas[i]->forward(first_inputs[i]));
  return outputs;
}

// What the first copy's forward did to its buffers (a batch norm's running statistics) is the module's.
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
    // Not Scatter and Gather, which are CUDA's alone: chunk and cat give the same tensors and gradients on any device.
    const std::vector<at::Tensor> chunks = input.chunk(static_cast<std::int64_t>(devices.size()));
    // A short batch may have fewer chunks than there are devices.
    of_devices.resize(chunks.size());
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      // A chunk of its own on each device, even on the one that the batch is on: MKL's sums depend on where it starts.
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
  const UntouchedGenerator guard;
  try {
    // Each one: a part that cannot be copied keeps a clone's fresh weights, and LibTorch says nothing.
    for (const auto& part : module.modules()) part->clone();
  } catch (const c10::Error& error) {
    throw usage_error("this model cannot be copied onto several devices: " + error.msg(), "model",
                      "derive it from torch::nn::Cloneable and build its parts in reset(), or use parallel = \"ddp\"");
  }
}

namespace {

// One process, which splits each batch over all of its devices.
class DataParallel : public Parallel {
 public:
  explicit DataParallel(const ParallelParts& parts) : Parallel(parts.module), devices_(parts.devices) {}

  void start(const Buckets&) override {
    if (devices_.size() > 1) require_cloneable(*module().ptr());
  }
  at::Tensor forward(const std::vector<at::Tensor>& inputs) override {
    return devices_.size() > 1 ? data_parallel(module(), inputs, devices_) : model::call(module(), inputs);
  }

 private:
  const std::vector<c10::Device> devices_;
};

const bool data_parallel_registered = parallels().add<NoParallelOptions>(
    "data_parallel", "PyTorch's DataParallel: one process, which splits each batch over its devices",
    [](const NoParallelOptions&, const ParallelParts& parts) -> std::unique_ptr<Parallel> {
      return std::make_unique<DataParallel>(parts);
    },
    {{"devices", "all"}});

}  // namespace
}  // namespace ddp::dist
