#include <ATen/ops/group_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/normalization.h>

#include "models/layers.h"

namespace ddp::models {
namespace {

using config::at_least;
using torch::nn::AnyModule;

struct BatchNormOptions {
  std::int64_t num_features = 0;
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = true;
  bool track_running_stats = true;
  void fields(config::Fields& f) {
    f({.name = "num_features", .doc = "channels of a sample", .range = at_least(1), .required = true}, num_features);
    f({.name = "eps", .doc = "added to the variance", .range = at_least(0)}, eps);
    f({.name = "momentum", .doc = "share of a batch in the running statistics", .range = config::between(0, 1)},
      momentum);
    f({.name = "affine", .doc = "learn weight and bias"}, affine);
    f({.name = "track_running_stats", .doc = "keep running statistics, for evaluation"}, track_running_stats);
  }
};

struct LayerNormOptions {
  config::Value normalized_shape;
  double eps = 1e-5;
  bool elementwise_affine = true;
  void fields(config::Fields& f) {
    f(size_option("normalized_shape", "sizes of the last dimensions of a sample", 1, /*required=*/true),
      normalized_shape);
    f({.name = "eps", .doc = "added to the variance", .range = at_least(0)}, eps);
    f({.name = "elementwise_affine", .doc = "learn weight and bias"}, elementwise_affine);
  }
  std::vector<std::int64_t> shape() const {
    if (normalized_shape.is_number()) return {normalized_shape.get<std::int64_t>()};
    return normalized_shape.get<std::vector<std::int64_t>>();
  }
};

struct GroupNormOptions {
  std::int64_t num_groups = 0;
  std::int64_t num_channels = 0;
  double eps = 1e-5;
  bool affine = true;
  void fields(config::Fields& f) {
    f({.name = "num_groups", .doc = "groups of channels", .range = at_least(1), .required = true}, num_groups);
    f({.name = "num_channels", .doc = "channels of a sample", .range = at_least(1), .required = true}, num_channels);
    f({.name = "eps", .doc = "added to the variance", .range = at_least(0)}, eps);
    f({.name = "affine", .doc = "learn weight and bias"}, affine);
  }
};

template <class Module>
AnyModule batch_norm(const BatchNormOptions& o) {
  return AnyModule(Module(torch::nn::BatchNormOptions(o.num_features)
                              .eps(o.eps)
                              .momentum(o.momentum)
                              .affine(o.affine)
                              .track_running_stats(o.track_running_stats)));
}

// In channels_last LibTorch's gradient of the weight crashes if the input needs none, as the data of the first layer.
// It derives from Cloneable itself: a clone of a class that derives from GroupNormImpl would be a GroupNormImpl.
struct SafeGroupNormImpl : torch::nn::Cloneable<SafeGroupNormImpl> {
  explicit SafeGroupNormImpl(const GroupNormOptions& o) : o_(o) { reset(); }
  void reset() override {
    if (!o_.affine) return;
    weight = register_parameter("weight", at::ones({o_.num_channels}));
    bias = register_parameter("bias", at::zeros({o_.num_channels}));
  }
  at::Tensor forward(const at::Tensor& x) {
    const bool is_safe = x.requires_grad() || x.suggest_memory_format() == at::MemoryFormat::Contiguous;
    return at::group_norm(is_safe ? x : x.clone(at::MemoryFormat::Contiguous), o_.num_groups, weight, bias, o_.eps);
  }

  at::Tensor weight, bias;

 private:
  GroupNormOptions o_;  // not const: Cloneable assigns
};
TORCH_MODULE(SafeGroupNorm);

const bool batch_norm1d_registered =
    layers().add<BatchNormOptions>("BatchNorm1d", "batch normalisation of [n, channels] or [n, channels, length]",
                                   batch_norm<torch::nn::BatchNorm1d>, {{"same_calls", true}});

const bool batch_norm2d_registered =
    layers().add<BatchNormOptions>("BatchNorm2d", "batch normalisation of [n, channels, height, width]",
                                   batch_norm<torch::nn::BatchNorm2d>, {{"same_calls", true}});

const bool layer_norm_registered = layers().add<LayerNormOptions>(
    "LayerNorm", "normalisation over the last dimensions",
    [](const LayerNormOptions& o) {
      return AnyModule(torch::nn::LayerNorm(
          torch::nn::LayerNormOptions(o.shape()).eps(o.eps).elementwise_affine(o.elementwise_affine)));
    },
    {{"same_calls", true}});

const bool group_norm_registered = layers().add<GroupNormOptions>(
    "GroupNorm", "normalisation over groups of channels",
    [](const GroupNormOptions& o) { return AnyModule(SafeGroupNorm(o)); }, {{"same_calls", true}});

}  // namespace
}  // namespace ddp::models
