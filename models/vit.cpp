#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_native_multi_head_attention.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/normalization.h>

#include "base/error.h"
#include "models/linear.h"
#include "models/model.h"

// "An Image is Worth 16x16 Words" (arXiv:2010.11929) as torchvision builds it
// (torchvision/models/vision_transformer.py): the same names of parameters, the same draws for the initial weights, and
// the same operators.
namespace ddp::models {
namespace {

constexpr std::int64_t kVitChannels = 3;

struct VitOptions {
  std::optional<std::int64_t> image_size;
  std::int64_t patch_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t hidden_dim = 0;
  std::int64_t mlp_dim = 0;
  double dropout = 0;
  std::optional<std::int64_t> num_classes;
  void fields(config::Fields& f) {
    const config::Range count = config::between(1, 1 << 20);
    f({.name = "image_size",
       .doc = "height and width of an image; default: taken from the data",
       .range = count,
       .from_data = "image_size"},
      image_size);
    f({.name = "patch_size",
       .doc = "height and width of a patch; a divisor of image_size",
       .range = count,
       .required = true},
      patch_size);
    f({.name = "num_layers", .doc = "number of blocks of attention and MLP", .range = count, .required = true},
      num_layers);
    f({.name = "num_heads", .doc = "heads of an attention; a divisor of hidden_dim", .range = count, .required = true},
      num_heads);
    f({.name = "hidden_dim", .doc = "values of a patch inside the model", .range = count, .required = true},
      hidden_dim);
    f({.name = "mlp_dim", .doc = "width of an MLP", .range = count, .required = true}, mlp_dim);
    f({.name = "dropout", .doc = "share of values to drop", .range = config::from_below(0, 1)}, dropout);
    f({.name = "num_classes",
       .doc = "number of classes; default: taken from the data",
       .range = count,
       .from_data = "num_classes"},
      num_classes);
  }
};

// Draws from a normal distribution truncated at -2 and 2, as torch.nn.init.trunc_normal_ (torch/nn/init.py), which
// LibTorch's C++ does not have.
void draw_truncated_normal(at::Tensor& weight, double deviation) {
  const at::NoGradGuard no_grad;
  const auto normal_cdf = [](double x) { return (1.0 + std::erf(x / std::sqrt(2.0))) / 2.0; };
  const double low = normal_cdf(-2.0 / deviation);
  const double high = normal_cdf(2.0 / deviation);
  weight.uniform_(2 * low - 1, 2 * high - 1).erfinv_().mul_(deviation * std::sqrt(2.0)).add_(0.0).clamp_(-2.0, 2.0);
}

torch::nn::LayerNorm vit_norm(const VitOptions& o) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({o.hidden_dim}).eps(1e-6));
}

// Self-attention: torch.nn.MultiheadAttention with batch_first (torch/nn/modules/activation.py).
struct VitAttention : torch::nn::Module {
  explicit VitAttention(const VitOptions& o) : num_heads(o.num_heads) {
    in_proj_weight = register_parameter("in_proj_weight", at::empty({3 * o.hidden_dim, o.hidden_dim}));
    in_proj_bias = register_parameter("in_proj_bias", at::zeros({3 * o.hidden_dim}));
    out_proj = register_module("out_proj", Linear(o.hidden_dim, o.hidden_dim));
    torch::nn::init::xavier_uniform_(in_proj_weight);
    torch::nn::init::zeros_(out_proj->bias);
  }

  // `x` has the shape [n, places, hidden_dim].
  at::Tensor forward(const at::Tensor& x) {
    if (is_fused(x)) {
      return std::get<0>(at::_native_multi_head_attention(x, x, x, x.size(2), num_heads, in_proj_weight, in_proj_bias,
                                                          out_proj->weight, out_proj->bias, /*mask=*/{},
                                                          /*need_weights=*/false));
    }
    const std::int64_t n = x.size(0);
    const std::int64_t places = x.size(1);
    const std::int64_t width = x.size(2);
    const at::Tensor parts = at::linear(x.transpose(1, 0), in_proj_weight, in_proj_bias)
                                 .unflatten(-1, {3, width})
                                 .unsqueeze(0)
                                 .transpose(0, -2)
                                 .squeeze(-2)
                                 .contiguous();
    const auto in_heads = [&](const at::Tensor& part) {
      return part.view({places, n * num_heads, width / num_heads})
          .transpose(0, 1)
          .view({n, num_heads, places, width / num_heads});
    };
    const at::Tensor y = at::scaled_dot_product_attention(in_heads(parts[0]), in_heads(parts[1]), in_heads(parts[2]));
    const at::Tensor rows = y.permute({2, 0, 1, 3}).contiguous().view({n * places, width});
    return out_proj(rows).view({places, n, width}).transpose(1, 0);
  }

  // Python's rule for its fused operator, which rounds differently: in evaluation, without gradients, and with an even
  // number of heads.
  bool is_fused(const at::Tensor& x) const {
    if (is_training() || num_heads % 2 != 0 || at::autocast::is_autocast_enabled(at::kCUDA)) return false;
    if (x.scalar_type() != in_proj_weight.scalar_type()) return false;
    if (!at::GradMode::is_enabled()) return true;
    return !(x.requires_grad() || in_proj_weight.requires_grad() || in_proj_bias.requires_grad() ||
             out_proj->weight.requires_grad() || out_proj->bias.requires_grad());
  }

  const std::int64_t num_heads;
  at::Tensor in_proj_weight;
  at::Tensor in_proj_bias;
  Linear out_proj{nullptr};
};

struct VitMlp : torch::nn::Module {
  explicit VitMlp(const VitOptions& o) : dropout(o.dropout) {
    // In Python the MLP is a Sequential, in which GELU and the dropouts have the numbers 1, 2 and 4.
    first = register_module("0", Linear(o.hidden_dim, o.mlp_dim));
    second = register_module("3", Linear(o.mlp_dim, o.hidden_dim));
    for (auto* linear : {&first, &second}) {
      torch::nn::init::xavier_uniform_((*linear)->weight);
      torch::nn::init::normal_((*linear)->bias, 0, 1e-6);
    }
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor inner = at::dropout(at::gelu(first(x)), dropout, is_training());
    return at::dropout(second(inner), dropout, is_training());
  }

  const double dropout;
  Linear first{nullptr};
  Linear second{nullptr};
};

struct VitBlock : torch::nn::Module {
  explicit VitBlock(const VitOptions& o) : dropout(o.dropout) {
    ln_1 = register_module("ln_1", vit_norm(o));
    self_attention = register_module("self_attention", std::make_shared<VitAttention>(o));
    ln_2 = register_module("ln_2", vit_norm(o));
    mlp = register_module("mlp", std::make_shared<VitMlp>(o));
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor attended = at::dropout(self_attention->forward(ln_1(x)), dropout, is_training()) + x;
    return attended + mlp->forward(ln_2(attended));
  }

  const double dropout;
  torch::nn::LayerNorm ln_1{nullptr};
  std::shared_ptr<VitAttention> self_attention;
  torch::nn::LayerNorm ln_2{nullptr};
  std::shared_ptr<VitMlp> mlp;
};

// A module that only groups its submodules under a name.
struct VitParts : torch::nn::Module {};

struct VitEncoder : torch::nn::Module {
  VitEncoder(const VitOptions& o, std::int64_t places) : dropout(o.dropout) {
    pos_embedding = register_parameter("pos_embedding", at::empty({1, places, o.hidden_dim}).normal_(0, 0.02));
    const auto layers = register_module("layers", std::make_shared<VitParts>());
    for (std::int64_t i = 0; i < o.num_layers; ++i) {
      blocks.push_back(layers->register_module("encoder_layer_" + std::to_string(i), std::make_shared<VitBlock>(o)));
    }
    ln = register_module("ln", vit_norm(o));
  }
  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = at::dropout(x + pos_embedding, dropout, is_training());
    for (const auto& block : blocks) y = block->forward(y);
    return ln(y);
  }

  const double dropout;
  at::Tensor pos_embedding;
  std::vector<std::shared_ptr<VitBlock>> blocks;
  torch::nn::LayerNorm ln{nullptr};
};

struct Vit : torch::nn::Module {
  explicit Vit(const VitOptions& options) : o(options) {
    const std::int64_t side = o.image_size.value() / o.patch_size;
    conv_proj = register_module(
        "conv_proj",
        torch::nn::Conv2d(torch::nn::Conv2dOptions(kVitChannels, o.hidden_dim, o.patch_size).stride(o.patch_size)));
    class_token = register_parameter("class_token", at::zeros({1, 1, o.hidden_dim}));
    encoder = register_module("encoder", std::make_shared<VitEncoder>(o, side * side + 1));
    const auto heads = register_module("heads", std::make_shared<VitParts>());
    head = heads->register_module("head", Linear(o.hidden_dim, o.num_classes.value()));
    const auto inputs = static_cast<double>(kVitChannels * o.patch_size * o.patch_size);
    draw_truncated_normal(conv_proj->weight, std::sqrt(1 / inputs));
    torch::nn::init::zeros_(conv_proj->bias);
    torch::nn::init::zeros_(head->weight);
    torch::nn::init::zeros_(head->bias);
  }

  // `x`: float [n, 3, image_size, image_size]. Returns the scores: [n, num_classes].
  at::Tensor forward(const at::Tensor& x) {
    const std::int64_t size = o.image_size.value();
    if (x.dim() != 4 || x.size(1) != kVitChannels || x.size(2) != size || x.size(3) != size) {
      throw usage_error("vit takes images, float [n, 3, " + std::to_string(size) + ", " + std::to_string(size) +
                            "], but the dataset gives " + c10::str(x.sizes()),
                        "model.image_size", "use images of that size with three channels");
    }
    const at::Tensor patches = conv_proj(x).reshape({x.size(0), o.hidden_dim, -1}).permute({0, 2, 1});
    const at::Tensor y = encoder->forward(at::cat({class_token.expand({x.size(0), -1, -1}), patches}, /*dim=*/1));
    return head(y.select(1, 0));
  }

  const VitOptions o;
  torch::nn::Conv2d conv_proj{nullptr};
  at::Tensor class_token;
  std::shared_ptr<VitEncoder> encoder;
  Linear head{nullptr};
};

void require_divisor(const char* part, std::int64_t divisor, const char* whole, std::int64_t value) {
  if (value % divisor == 0) return;
  const std::string name = part;
  throw usage_error(
      name + " = " + std::to_string(divisor) + " does not divide " + whole + " = " + std::to_string(value),
      "model." + name, "choose a divisor");
}

const bool vit_registered =
    registry().add<VitOptions>("vit", "torchvision's VisionTransformer: image classification",
                               [](const VitOptions& o, const Placement&) {
                                 require_divisor("patch_size", o.patch_size, "image_size", o.image_size.value());
                                 require_divisor("num_heads", o.num_heads, "hidden_dim", o.hidden_dim);
                                 return torch::nn::AnyModule(std::make_shared<Vit>(o));
                               },
                               {{"inputs", "images"}, {"same_calls", true}});

}  // namespace
}  // namespace ddp::models
