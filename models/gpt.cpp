#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/embedding.h>

#include "base/error.h"
#include "model/next_token.h"
#include "models/linear.h"
#include "models/model.h"

// GPT-2 as nanoGPT builds it (https://github.com/karpathy/nanoGPT, model.py): the same names of parameters, the same
// draws for the initial weights, and the output for every place of a block.
namespace ddp::models {
namespace {

constexpr double kEpsilon = 1e-5;    // of layer norms
constexpr double kDeviation = 0.02;  // of initial weights

struct GptOptions {
  std::int64_t n_layer = 0;
  std::int64_t n_head = 0;
  std::int64_t n_embd = 0;
  std::optional<std::int64_t> block_size;
  std::optional<std::int64_t> vocab_size;
  double dropout = 0;
  bool bias = true;
  void fields(config::Fields& f) {
    const config::Range count = config::between(1, 1 << 30);
    f({.name = "n_layer", .doc = "number of blocks of attention and MLP", .range = count, .required = true}, n_layer);
    f({.name = "n_head", .doc = "heads of an attention; a divisor of n_embd", .range = count, .required = true},
      n_head);
    f({.name = "n_embd", .doc = "values of a token inside the model", .range = count, .required = true}, n_embd);
    f({.name = "block_size",
       .doc = "largest number of tokens in a sample; default: taken from the data",
       .range = count,
       .from_data = "block_size"},
      block_size);
    f({.name = "vocab_size",
       .doc = "number of different tokens; default: taken from the data",
       .range = count,
       .from_data = "vocab_size"},
      vocab_size);
    f({.name = "dropout", .doc = "share of values to drop", .range = config::from_below(0, 1)}, dropout);
    f({.name = "bias", .doc = "biases in linear layers and layer norms, as in GPT-2"}, bias);
  }
};

// nanoGPT's LayerNorm, with an optional bias.
struct GptNorm : torch::nn::Module {
  explicit GptNorm(const GptOptions& o)
      : weight(register_parameter("weight", at::ones({o.n_embd}))),
        bias(o.bias ? register_parameter("bias", at::zeros({o.n_embd})) : at::Tensor()) {}
  at::Tensor forward(const at::Tensor& x) const { return at::layer_norm(x, weight.sizes(), weight, bias, kEpsilon); }

  at::Tensor weight;
  at::Tensor bias;
};

Linear gpt_linear(std::int64_t inputs, std::int64_t outputs, const GptOptions& o) {
  return Linear(inputs, outputs, o.bias);
}

struct GptAttention : torch::nn::Module {
  explicit GptAttention(const GptOptions& options) : o(options) {
    c_attn = register_module("c_attn", gpt_linear(o.n_embd, 3 * o.n_embd, o));
    c_proj = register_module("c_proj", gpt_linear(o.n_embd, o.n_embd, o));
  }

  // `x` has the shape [n, t, n_embd].
  at::Tensor forward(const at::Tensor& x) {
    const auto parts = c_attn(x).split(o.n_embd, /*dim=*/2);
    const auto in_heads = [&](const at::Tensor& part) {
      return part.view({x.size(0), x.size(1), o.n_head, o.n_embd / o.n_head}).transpose(1, 2);
    };
    const at::Tensor y = at::scaled_dot_product_attention(in_heads(parts[0]), in_heads(parts[1]), in_heads(parts[2]),
                                                          /*attn_mask=*/{}, is_training() ? o.dropout : 0.0,
                                                          /*is_causal=*/true);
    return at::dropout(c_proj(y.transpose(1, 2).contiguous().view(x.sizes())), o.dropout, is_training());
  }

  const GptOptions o;
  Linear c_attn{nullptr};
  Linear c_proj{nullptr};
};

struct GptMlp : torch::nn::Module {
  explicit GptMlp(const GptOptions& o) : dropout(o.dropout) {
    c_fc = register_module("c_fc", gpt_linear(o.n_embd, 4 * o.n_embd, o));
    c_proj = register_module("c_proj", gpt_linear(4 * o.n_embd, o.n_embd, o));
  }
  at::Tensor forward(const at::Tensor& x) { return at::dropout(c_proj(at::gelu(c_fc(x))), dropout, is_training()); }

  const double dropout;
  Linear c_fc{nullptr};
  Linear c_proj{nullptr};
};

struct GptBlock : torch::nn::Module {
  explicit GptBlock(const GptOptions& o) {
    ln_1 = register_module("ln_1", std::make_shared<GptNorm>(o));
    attn = register_module("attn", std::make_shared<GptAttention>(o));
    ln_2 = register_module("ln_2", std::make_shared<GptNorm>(o));
    mlp = register_module("mlp", std::make_shared<GptMlp>(o));
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor attended = x + attn->forward(ln_1->forward(x));
    return attended + mlp->forward(ln_2->forward(attended));
  }

  std::shared_ptr<GptNorm> ln_1;
  std::shared_ptr<GptAttention> attn;
  std::shared_ptr<GptNorm> ln_2;
  std::shared_ptr<GptMlp> mlp;
};

// A module that only groups its submodules under a name.
struct GptParts : torch::nn::Module {};

struct GptTransformer : torch::nn::Module {
  explicit GptTransformer(const GptOptions& o) {
    wte = register_module("wte", torch::nn::Embedding(o.vocab_size.value(), o.n_embd));
    wpe = register_module("wpe", torch::nn::Embedding(o.block_size.value(), o.n_embd));
    const auto list = register_module("h", std::make_shared<GptParts>());
    for (std::int64_t i = 0; i < o.n_layer; ++i) {
      blocks.push_back(list->register_module(std::to_string(i), std::make_shared<GptBlock>(o)));
    }
    ln_f = register_module("ln_f", std::make_shared<GptNorm>(o));
  }

  torch::nn::Embedding wte{nullptr};
  torch::nn::Embedding wpe{nullptr};
  std::vector<std::shared_ptr<GptBlock>> blocks;
  std::shared_ptr<GptNorm> ln_f;
};

// The linear layer that shares its weight with the embedding of tokens.
struct GptHead : torch::nn::Module {
  explicit GptHead(const at::Tensor& tied) : weight(register_parameter("weight", tied)) {
    // Draws as many random numbers as nn.Linear does for a weight, which nanoGPT then replaces.
    const at::NoGradGuard no_grad;
    torch::nn::init::kaiming_uniform_(at::empty_like(tied), std::sqrt(5));
  }
  at::Tensor forward(const at::Tensor& x) const { return at::linear(x, weight); }

  at::Tensor weight;
};

struct Gpt : torch::nn::Module, model::ScoresNextToken {
  explicit Gpt(const GptOptions& options) : o(options) {
    transformer = register_module("transformer", std::make_shared<GptTransformer>(o));
    lm_head = register_module("lm_head", std::make_shared<GptHead>(transformer->wte->weight));
    draw_weights();
  }

  // tokens: int64 [n, t], t at most block_size. Returns [n, t, vocab_size]: scores of the next token.
  at::Tensor forward(const at::Tensor& tokens) { return lm_head->forward(features(tokens)); }

  // As in nanoGPT's forward without targets, the head computes only the last place.
  at::Tensor next_token_scores(const at::Tensor& tokens) override {
    const at::Tensor x = features(tokens);
    return lm_head->forward(x.narrow(1, x.size(1) - 1, 1)).select(1, -1);
  }

 private:
  // Returns [n, t, n_embd], the input of the head.
  at::Tensor features(const at::Tensor& tokens) {
    if (tokens.dim() != 2 || tokens.scalar_type() != at::kLong) {
      throw usage_error(
          "gpt takes tokens, int64 [n, t], but the dataset gives " + c10::str(tokens.scalar_type(), tokens.sizes()),
          "model",
          "use the dataset text or tokens; for rows of numbers: model = { name = \"mlp\", hidden = [64, 64] }");
    }
    if (tokens.size(1) > o.block_size.value()) {
      throw usage_error("a sample has " + std::to_string(tokens.size(1)) + " tokens, but gpt takes at most " +
                            std::to_string(o.block_size.value()),
                        "model.block_size", "set the same block_size for model and dataset");
    }
    const at::Tensor places = at::arange(tokens.size(1), tokens.options());
    at::Tensor x = transformer->wte(tokens) + transformer->wpe(places);
    x = at::dropout(x, o.dropout, is_training());
    for (const auto& block : transformer->blocks) x = block->forward(x);
    return transformer->ln_f->forward(x);
  }

  // Draws in the order of nanoGPT's apply(_init_weights), which visits the tied weight twice, and of the loop after it.
  void draw_weights() {
    const at::NoGradGuard no_grad;
    const auto draw = [](Linear& layer) {
      layer->weight.normal_(0, kDeviation);
      if (layer->bias.defined()) layer->bias.zero_();
    };
    transformer->wte->weight.normal_(0, kDeviation);
    transformer->wpe->weight.normal_(0, kDeviation);
    for (const auto& block : transformer->blocks) {
      draw(block->attn->c_attn);
      draw(block->attn->c_proj);
      draw(block->mlp->c_fc);
      draw(block->mlp->c_proj);
    }
    lm_head->weight.normal_(0, kDeviation);
    const double of_residuals = kDeviation / std::sqrt(2 * static_cast<double>(o.n_layer));
    for (const auto& block : transformer->blocks) {
      block->attn->c_proj->weight.normal_(0, of_residuals);
      block->mlp->c_proj->weight.normal_(0, of_residuals);
    }
  }

  const GptOptions o;
  std::shared_ptr<GptTransformer> transformer;
  std::shared_ptr<GptHead> lm_head;
};

const bool gpt_registered =
    registry().add<GptOptions>("gpt", "GPT-2 as nanoGPT builds it: scores of the next token at every place of a block",
                               [](const GptOptions& o, const Placement&) {
                                 if (o.n_embd % o.n_head != 0) {
                                   throw usage_error("n_head = " + std::to_string(o.n_head) +
                                                         " does not divide n_embd = " + std::to_string(o.n_embd),
                                                     "model.n_head", "a head has n_embd / n_head values");
                                 }
                                 return torch::nn::AnyModule(std::make_shared<Gpt>(o));
                               },
                               {{"inputs", "tokens"}, {"same_calls", true}});

}  // namespace
}  // namespace ddp::models
