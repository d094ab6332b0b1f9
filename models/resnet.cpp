#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>

#include "models/linear.h"
#include "models/model.h"

// "Deep Residual Learning for Image Recognition" (arXiv:1512.03385) as torchvision builds it
// (torchvision/models/resnet.py, there called ResNet V1.5): the same names of parameters and buffers, and the same
// draws for the initial weights.
namespace ddp::models {
namespace {

struct ResNetOptions {
  std::optional<std::int64_t> num_classes;
  bool small_images = false;
  void fields(config::Fields& f) {
    f({.name = "num_classes",
       .doc = "number of classes; default: taken from the data",
       .range = config::between(1, 1 << 30),
       .from_data = "num_classes"},
      num_classes);
    f({.name = "small_images",
       .doc = "variant for images of about 32 pixels: first convolution 3x3 with stride 1, no max pool"},
      small_images);
  }
};

// A variant of torchvision: the number of blocks in each of the four stages, and the kind of the blocks.
struct ResNetDepth {
  const char* name;
  std::array<std::int64_t, 4> blocks;
  bool bottleneck;
};

constexpr ResNetDepth kResNets[] = {
    {"resnet18", {2, 2, 2, 2}, false},  {"resnet34", {3, 4, 6, 3}, false},  {"resnet50", {3, 4, 6, 3}, true},
    {"resnet101", {3, 4, 23, 3}, true}, {"resnet152", {3, 8, 36, 3}, true},
};

torch::nn::Conv2d resnet_conv(std::int64_t inputs, std::int64_t outputs, std::int64_t kernel, std::int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(inputs, outputs, kernel).stride(stride).padding(kernel / 2).bias(false));
}

// Convolutions with batch norms and a shortcut: two convolutions of 3x3 (BasicBlock), or a bottleneck of 1x1, 3x3, 1x1.
struct ResNetBlock : torch::nn::Module {
  ResNetBlock(std::int64_t inputs, std::int64_t width, std::int64_t stride, bool bottleneck) {
    const std::int64_t outputs = bottleneck ? 4 * width : width;
    // torchvision constructs the shortcut before the convolutions, and registers it after them.
    if (stride != 1 || inputs != outputs) {
      const torch::nn::Conv2d conv = resnet_conv(inputs, outputs, /*kernel=*/1, stride);
      downsample = torch::nn::Sequential(conv, torch::nn::BatchNorm2d(outputs));
    }
    if (bottleneck) {
      append(inputs, width, /*kernel=*/1, /*stride=*/1);
      append(width, width, /*kernel=*/3, stride);
      append(width, outputs, /*kernel=*/1, /*stride=*/1);
    } else {
      append(inputs, width, /*kernel=*/3, stride);
      append(width, width, /*kernel=*/3, /*stride=*/1);
    }
    if (downsample) register_module("downsample", downsample);
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = x;
    for (std::size_t i = 0; i < convs.size(); ++i) {
      y = norms[i](convs[i](y));
      if (i + 1 < convs.size()) y.relu_();
    }
    return y.add_(downsample ? downsample->forward(x) : x).relu_();
  }

  void append(std::int64_t inputs, std::int64_t outputs, std::int64_t kernel, std::int64_t stride) {
    const std::string number = std::to_string(convs.size() + 1);
    convs.push_back(register_module("conv" + number, resnet_conv(inputs, outputs, kernel, stride)));
    norms.push_back(register_module("bn" + number, torch::nn::BatchNorm2d(outputs)));
  }

  std::vector<torch::nn::Conv2d> convs;
  std::vector<torch::nn::BatchNorm2d> norms;
  torch::nn::Sequential downsample{nullptr};
};

struct ResNet : torch::nn::Module {
  ResNet(const ResNetDepth& depth, const ResNetOptions& o) : small_images(o.small_images) {
    constexpr std::int64_t kWidth = 64;
    // The 7x7 convolution has stride 2.
    conv1 = register_module(
        "conv1", small_images ? resnet_conv(3, kWidth, /*kernel=*/3, /*stride=*/1) : resnet_conv(3, kWidth, 7, 2));
    bn1 = register_module("bn1", torch::nn::BatchNorm2d(kWidth));
    std::int64_t inputs = kWidth;
    for (std::size_t i = 0; i < depth.blocks.size(); ++i) {
      const std::int64_t width = kWidth << i;
      torch::nn::Sequential stage;
      for (std::int64_t block = 0; block < depth.blocks[i]; ++block) {
        const std::int64_t stride = i > 0 && block == 0 ? 2 : 1;
        stage->push_back(std::make_shared<ResNetBlock>(inputs, width, stride, depth.bottleneck));
        inputs = depth.bottleneck ? 4 * width : width;
      }
      stages.push_back(register_module("layer" + std::to_string(i + 1), stage));
    }
    fc = register_module("fc", Linear(inputs, o.num_classes.value()));
    for (const auto& module : modules(/*include_self=*/false)) {
      const auto* conv = module->as<torch::nn::Conv2d>();
      if (conv != nullptr) torch::nn::init::kaiming_normal_(conv->weight, 0, torch::kFanOut, torch::kReLU);
    }
  }

  // `x`: float [n, 3, height, width]. Returns the scores: [n, num_classes].
  at::Tensor forward(at::Tensor x) {
    x = bn1(conv1(x)).relu_();
    if (!small_images) x = at::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);
    for (auto& stage : stages) x = stage->forward(x);
    return fc(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

  const bool small_images;
  torch::nn::Conv2d conv1{nullptr};
  torch::nn::BatchNorm2d bn1{nullptr};
  std::vector<torch::nn::Sequential> stages;
  Linear fc{nullptr};
};

const bool resnets_registered = [] {
  for (const ResNetDepth& depth : kResNets) {
    registry().add<ResNetOptions>(depth.name, "torchvision's " + std::string(depth.name) + ": image classification",
                                  [&depth](const ResNetOptions& o, const Placement&) {
                                    return torch::nn::AnyModule(std::make_shared<ResNet>(depth, o));
                                  },
                                  {{"inputs", "images"}, {"same_calls", true}});
  }
  return true;
}();

}  // namespace
}  // namespace ddp::models
