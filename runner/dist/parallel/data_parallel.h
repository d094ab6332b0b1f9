#pragma once

#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>

namespace ddp::dist {

// Computes the output of a module for a batch that is split over several devices of this process, as
// torch.nn.DataParallel and torch::nn::parallel::data_parallel (torch/nn/parallel/data_parallel.h). The batch is split
// into equal chunks, each device gets a new copy of the module, and the outputs are joined on the first device, which
// holds the module. The gradients of all copies add up in the module's parameters. The module takes the buffers of the
// first copy, as in Python. Only the forward draws random numbers. The module must be cloneable (require_cloneable).
at::Tensor data_parallel(torch::nn::AnyModule& module, const std::vector<at::Tensor>& inputs,
                         const std::vector<c10::Device>& devices);

// Throws ddp::Error (usage) if the module or one of its submodules cannot be copied.
void require_cloneable(const torch::nn::Module& module);

}  // namespace ddp::dist
