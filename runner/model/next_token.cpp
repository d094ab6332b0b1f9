#include "model/next_token.h"

#include <c10/util/StringUtil.h>
#include <torch/nn/module.h>

#include "base/error.h"
#include "model/call.h"

namespace ddp::model {

at::Tensor next_token_scores(torch::nn::AnyModule& model, const at::Tensor& tokens) {
  if (auto* scorer = dynamic_cast<ScoresNextToken*>(model.ptr().get())) return scorer->next_token_scores(tokens);
  const at::Tensor scores = call(model, {tokens});
  if (scores.dim() == 3 && scores.size(0) == tokens.size(0) && scores.size(1) == tokens.size(1)) {
    return scores.select(1, -1);
  }
  throw usage_error("gives " + c10::str(scores.sizes()) + " for tokens of " + c10::str(tokens.sizes()), "the model",
                    "a text model must return scores of the next token at every position: [n, t, vocab_size]");
}

}  // namespace ddp::model
