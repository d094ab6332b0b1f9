#pragma once

#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>

namespace ddp::dist {

// The output of a module for a batch that is split over several devices of this process, as torch.nn.DataParallel and
// torch::nn::parallel::data_parallel do it (torch/nn/parallel/data_parallel.h): the batch goes to the devices in equal
// chunks, each device has a fresh copy of the module, and the outputs come together on the first device, where the
// module is. Gradients of all copies add up in the module's parameters; of the buffers, the first copy's stay, as in
// Python. Draws nothing but what the forward draws. The module must be cloneable (require_cloneable).
at::Tensor data_parallel(torch::nn::AnyModule& module, const std::vector<at::Tensor>& inputs,
                         const std::vector<c10::Device>& devices);

// Throws ddp::Error (usage) where the module, or one in it, cannot be copied.
void require_cloneable(const torch::nn::Module& module);

}  // namespace ddp::dist
