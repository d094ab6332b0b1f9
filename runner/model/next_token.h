#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>

namespace ddp::model {

// A module derives from this beside torch::nn::Module where it can score the next token without scoring every other
// place of the context.
struct ScoresNextToken {
  virtual ~ScoresNextToken() = default;
  // tokens: int64 [n, t]. Returns [n, vocab_size]: the scores of the token that follows each row.
  virtual at::Tensor next_token_scores(const at::Tensor& tokens) = 0;
};

// Returns the scores [n, vocab_size] of the token that follows each row of `tokens`, int64 [n, t]. A model that does
// not derive from ScoresNextToken scores all places, and the last one counts. Throws ddp::Error (usage) where its
// output is not [n, t, vocab_size].
at::Tensor next_token_scores(torch::nn::AnyModule& model, const at::Tensor& tokens);

}  // namespace ddp::model
