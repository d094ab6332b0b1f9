#pragma once

#include <ATen/core/Tensor.h>

#include "config/value.h"
#include "datasets/text/tokens.h"

namespace ddp::datasets {

// Describes tokens for Dataset::preview:
//   "blocks": the first tokens of the first samples, a list of {"id", "text"} each; "text" is null without a tokenizer
//   "block_left_out": the number of tokens of a block that are not shown
//   "frequent": the 20 most frequent tokens, {"id", "text", "count"}; "counted": the number of counted tokens
// `tokens`: the training part, of which at most ten million tokens are counted; `inputs`: int64 [samples, block_size];
// `tokenizer`: the tokenizer in preprocessing.json, or null.
config::Value preview_text(const Tokens& tokens, const at::Tensor& inputs, const config::Value& tokenizer);

}  // namespace ddp::datasets
