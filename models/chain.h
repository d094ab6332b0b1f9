#pragma once

#include <string>
#include <vector>

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/any.h>

namespace ddp::models {

// torch.nn.Sequential: modules one after the other, named "0", "1", …. It replaces torch::nn::Sequential, because
// AnyModule cannot hold a module whose forward is a template.
struct ChainImpl : torch::nn::Cloneable<ChainImpl> {
  // Does nothing, because clone() copies the layers, as in torch::nn::Sequential.
  void reset() override {}
  std::shared_ptr<torch::nn::Module> clone(const std::optional<c10::Device>& device = {}) const override {
    auto copy = std::make_shared<ChainImpl>();
    for (const auto& layer : layers) copy->append(layer.clone(device));
    copy->train(is_training());
    return copy;
  }
  void append(torch::nn::AnyModule layer) {
    register_module(std::to_string(layers.size()), layer.ptr());
    layers.push_back(std::move(layer));
  }
  // Throws c10::Error that names the layer, by its number and type, and the shape that it does not accept.
  at::Tensor forward(at::Tensor x);
  std::vector<torch::nn::AnyModule> layers;
};

}  // namespace ddp::models
