#include <torch/nn/modules/pooling.h>

#include "models/layers.h"

namespace ddp::models {
namespace {

using config::Value;
using torch::nn::AnyModule;

struct MaxPoolOptions {
  Value kernel_size;
  Value stride;  // null: the kernel's size
  Value padding = 0;
  Value dilation = 1;
  bool ceil_mode = false;
  void fields(config::Fields& f) {
    f(size_option("kernel_size", "size of the window", 1, /*required=*/true), kernel_size);
    f(size_option("stride", "step of the window; default: its size", 1), stride);
    f(size_option("padding", "padding around a sample", 0), padding);
    f(size_option("dilation", "distance between the window's elements", 1), dilation);
    f({.name = "ceil_mode", .doc = "round the output's size up"}, ceil_mode);
  }
};

struct AvgPoolOptions {
  Value kernel_size;
  Value stride;  // null: the kernel's size
  Value padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  void fields(config::Fields& f) {
    f(size_option("kernel_size", "size of the window", 1, /*required=*/true), kernel_size);
    f(size_option("stride", "step of the window; default: its size", 1), stride);
    f(size_option("padding", "zeros around a sample", 0), padding);
    f({.name = "ceil_mode", .doc = "round the output's size up"}, ceil_mode);
    f({.name = "count_include_pad", .doc = "include the padding in the average"}, count_include_pad);
  }
};

struct AdaptiveAvgPoolOptions {
  Value output_size;
  void fields(config::Fields& f) {
    f(size_option("output_size", "size of the output", 1, /*required=*/true), output_size);
  }
};

template <std::size_t Dimensions, class TorchOptions>
TorchOptions max_pool(const MaxPoolOptions& o) {
  auto options = TorchOptions(spread<Dimensions>(o.kernel_size, "kernel_size"))
                     .padding(spread<Dimensions>(o.padding, "padding"))
                     .dilation(spread<Dimensions>(o.dilation, "dilation"))
                     .ceil_mode(o.ceil_mode);
  if (!o.stride.is_null()) options.stride(spread<Dimensions>(o.stride, "stride"));
  return options;
}

template <std::size_t Dimensions, class TorchOptions>
TorchOptions avg_pool(const AvgPoolOptions& o) {
  auto options = TorchOptions(spread<Dimensions>(o.kernel_size, "kernel_size"))
                     .padding(spread<Dimensions>(o.padding, "padding"))
                     .ceil_mode(o.ceil_mode)
                     .count_include_pad(o.count_include_pad);
  if (!o.stride.is_null()) options.stride(spread<Dimensions>(o.stride, "stride"));
  return options;
}

const bool max_pool1d_registered =
    layers().add<MaxPoolOptions>("MaxPool1d", "largest value of each window over [n, channels, length]",
                                 [](const MaxPoolOptions& o) {
                                   return AnyModule(torch::nn::MaxPool1d(max_pool<1, torch::nn::MaxPool1dOptions>(o)));
                                 },
                                 {{"same_calls", true}});

const bool max_pool2d_registered =
    layers().add<MaxPoolOptions>("MaxPool2d", "largest value of each window over [n, channels, height, width]",
                                 [](const MaxPoolOptions& o) {
                                   return AnyModule(torch::nn::MaxPool2d(max_pool<2, torch::nn::MaxPool2dOptions>(o)));
                                 },
                                 {{"same_calls", true}});

const bool avg_pool1d_registered =
    layers().add<AvgPoolOptions>("AvgPool1d", "mean of each window over [n, channels, length]",
                                 [](const AvgPoolOptions& o) {
                                   return AnyModule(torch::nn::AvgPool1d(avg_pool<1, torch::nn::AvgPool1dOptions>(o)));
                                 },
                                 {{"same_calls", true}});

const bool avg_pool2d_registered =
    layers().add<AvgPoolOptions>("AvgPool2d", "mean of each window over [n, channels, height, width]",
                                 [](const AvgPoolOptions& o) {
                                   return AnyModule(torch::nn::AvgPool2d(avg_pool<2, torch::nn::AvgPool2dOptions>(o)));
                                 },
                                 {{"same_calls", true}});

const bool adaptive_avg_pool1d_registered = layers().add<AdaptiveAvgPoolOptions>(
    "AdaptiveAvgPool1d", "mean over windows, for an output of a given length",
    [](const AdaptiveAvgPoolOptions& o) {
      return AnyModule(torch::nn::AdaptiveAvgPool1d(spread<1>(o.output_size, "output_size")));
    },
    {{"same_calls", true}});

const bool adaptive_avg_pool2d_registered = layers().add<AdaptiveAvgPoolOptions>(
    "AdaptiveAvgPool2d", "mean over windows, for an output of a given size",
    [](const AdaptiveAvgPoolOptions& o) {
      const auto size = spread<2>(o.output_size, "output_size");
      return AnyModule(torch::nn::AdaptiveAvgPool2d(torch::nn::AdaptiveAvgPool2dOptions({(*size)[0], (*size)[1]})));
    },
    {{"same_calls", true}});

}  // namespace
}  // namespace ddp::models
