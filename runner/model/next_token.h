#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>

namespace ddp::model {

// The second base class of a module that can score the next token without scoring the other positions of the context.
struct ScoresNextToken {
  virtual ~ScoresNextToken() = default;
  // tokens: int64 [n, t]. Returns [n, vocab_size]: the scores of the token that follows each row.
  virtual at::Tensor next_token_scores(const at::Tensor& tokens) = 0;
};

// Returns the scores [n, vocab_size] of the token that follows each row of `tokens`, int64 [n, t]. If the model does
// not derive from ScoresNextToken, it scores all positions, and the last one is returned. Throws ddp::Error (usage) if
// the output is not [n, t, vocab_size].
at::Tensor next_token_scores(torch::nn::AnyModule& model, const at::Tensor& tokens);

}  // namespace ddp::model
