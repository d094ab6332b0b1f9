#include <torch/nn/modules/conv.h>

#include "models/layers.h"

namespace ddp::models {
namespace {

using config::at_least;
using config::Value;
using torch::nn::AnyModule;

// The options of all convolutions, with PyTorch's defaults.
struct ConvOptions {
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  Value kernel_size;
  Value stride = 1;
  Value padding = 0;
  Value dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::string padding_mode = "zeros";
  void fields(config::Fields& f) {
    f({.name = "in_channels", .doc = "channels of a sample", .range = at_least(1), .required = true}, in_channels);
    f({.name = "out_channels", .doc = "channels of the output", .range = at_least(1), .required = true}, out_channels);
    f(size_option("kernel_size", "size of the kernel", 1, /*required=*/true), kernel_size);
    f(size_option("stride", "step of the kernel", 1), stride);
    f(size_option("padding", "zeros around a sample", 0), padding);
    f(size_option("dilation", "distance between the kernel's elements", 1), dilation);
    f({.name = "groups", .doc = "groups of channels that do not mix", .range = at_least(1)}, groups);
    f({.name = "bias", .doc = "add a learnt bias"}, bias);
    f({.name = "padding_mode", .doc = "values around a sample", .choices = padding_modes}, padding_mode);
  }
  std::vector<std::string> padding_modes{"zeros", "reflect", "replicate", "circular"};
};

struct ConvTransposeOptions : ConvOptions {
  ConvTransposeOptions() { padding_modes = {"zeros"}; }
  Value output_padding = 0;
  void fields(config::Fields& f) {
    ConvOptions::fields(f);
    f(size_option("output_padding", "size added to one side of the output", 0), output_padding);
  }
};

template <class TorchOptions>
TorchOptions with_padding_mode(TorchOptions options, const std::string& mode) {
  if (mode == "reflect") return options.padding_mode(torch::kReflect);
  if (mode == "replicate") return options.padding_mode(torch::kReplicate);
  if (mode == "circular") return options.padding_mode(torch::kCircular);
  return options;
}

// Torch's options have one class template for each kind of convolution, all with the same setters.
template <std::size_t Dimensions, class TorchOptions>
TorchOptions common(const ConvOptions& o) {
  return TorchOptions(o.in_channels, o.out_channels, spread<Dimensions>(o.kernel_size, "kernel_size"))
      .stride(spread<Dimensions>(o.stride, "stride"))
      .padding(spread<Dimensions>(o.padding, "padding"))
      .dilation(spread<Dimensions>(o.dilation, "dilation"))
      .groups(o.groups)
      .bias(o.bias);
}

const bool conv1d_registered = layers().add<ConvOptions>(
    "Conv1d", "convolution over [n, channels, length]",
    [](const ConvOptions& o) {
      return AnyModule(torch::nn::Conv1d(with_padding_mode(common<1, torch::nn::Conv1dOptions>(o), o.padding_mode)));
    },
    {{"same_calls", true}});

const bool conv2d_registered = layers().add<ConvOptions>(
    "Conv2d", "convolution over [n, channels, height, width]",
    [](const ConvOptions& o) {
      return AnyModule(torch::nn::Conv2d(with_padding_mode(common<2, torch::nn::Conv2dOptions>(o), o.padding_mode)));
    },
    {{"same_calls", true}});

const bool conv_transpose2d_registered = layers().add<ConvTransposeOptions>(
    "ConvTranspose2d", "transposed convolution over [n, channels, height, width]",
    [](const ConvTransposeOptions& o) {
      return AnyModule(torch::nn::ConvTranspose2d(common<2, torch::nn::ConvTranspose2dOptions>(o).output_padding(
          spread<2>(o.output_padding, "output_padding"))));
    },
    {{"same_calls", true}});

}  // namespace
}  // namespace ddp::models
