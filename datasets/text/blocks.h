#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "datasets/dataset.h"
#include "datasets/text/tokens.h"

namespace ddp::datasets {

// The options of a dataset of tokens that say what a sample is.
struct BlockOptions {
  std::int64_t block_size = 0;
  std::string sampling = "blocks";
  void fields(config::Fields& f);
};

// The traits of such a dataset: it holds out the end of its tokens, and has no epochs where offsets are random.
config::Value block_traits();

// Tokens that a dataset has read, and what is known of them.
struct TokenData {
  Tokens tokens = {};                        // of all its files, or of the part that is held
  std::function<std::int64_t()> vocab_size;  // is called where somebody wants to know: it may read all tokens
  std::string name = {};                     // of its files, for people: "a.txt", "a.txt and 2 more"
  config::Value preprocessing = nullptr;     // what a prediction needs
  bool holds = false;                        // the tokens lie in memory of this process alone
};

// The tokens that the training dataset has read, where the context asks for another part of them; null: they are to be
// read.
const TokenData* tokens_of_training(const Context& context);

// The part of `count` tokens that a role has. With shares v and t for validation and test, n tokens train up to
// int(n * (1 - v - t)), validate up to int(n * (1 - t)), and the rest tests, in double as Python has it. A role other
// than training without a share has data of its own: all of them.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};
TokenRange range_of_role(std::int64_t count, const Context& context);

// Makes samples of this part of the tokens: inputs int64 [block_size], targets one token later. "blocks": sample i
// begins at token i * block_size, and there are floor((n - 1) / block_size). "random", for training: each begins
// anywhere in [0, n - block_size), as nanoGPT's get_batch draws them, with Draws of seed, place and sample. Throws
// ddp::Error (usage) where the tokens are too few for one sample.
std::unique_ptr<Dataset> make_samples(TokenData data, Tokens part, const BlockOptions& options, const Context& context);
// The same of the part that the role of the context has.
std::unique_ptr<Dataset> make_samples_of_role(TokenData data, const BlockOptions& options, const Context& context);

}  // namespace ddp::datasets
