#pragma once

#include <ATen/core/Tensor.h>

#include "config/value.h"
#include "datasets/text/tokens.h"

namespace ddp::datasets {

// Shows tokens as Dataset::preview does:
//   "blocks": the first tokens of the first samples, a list of {"id", "text"} each; "text" is null without a tokenizer
//   "frequent": the 20 most frequent tokens, {"id", "text", "count"}; "counted": the tokens that were counted
// `tokens`: the training part, of which ten million are counted at most; `inputs`: int64 [samples, block_size];
// `tokenizer`: as preprocessing.json keeps it, or null.
config::Value preview_text(const Tokens& tokens, const at::Tensor& inputs, const config::Value& tokenizer);

}  // namespace ddp::datasets
