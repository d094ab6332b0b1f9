#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/option/option.h"

namespace ddp::rank {

// A part of a generated text.
struct Continuation {
  std::string text;  // complete characters; a character split between tokens is in the later part
  std::vector<std::int64_t> tokens;

  void fields(config::Fields& f) {
    f({.name = "text"}, text);
    f({.name = "tokens"}, tokens);
  }
};

// Continues a prompt on one rank, with the weights of the checkpoint that the task resumes from and the tokenizer in
// the task's preprocessing. Replies with the prompt, then with each token when it is drawn, and last with a replacement
// for an incomplete character, if any.
struct GenerateRequest {
  using Reply = Continuation;
  static constexpr const char* kVerb = "generate";

  std::string prompt;
  std::int64_t tokens = 0;
  double temperature = 0.8;  // 0: always the most likely token
  std::int64_t top_k = 200;
  std::int64_t seed = 42;
  bool raw = false;  // the trained weights, not their average

  void fields(config::Fields& f) {
    f({.name = "prompt"}, prompt);
    f({.name = "tokens"}, tokens);
    f({.name = "temperature"}, temperature);
    f({.name = "top_k"}, top_k);
    f({.name = "seed"}, seed);
    f({.name = "raw"}, raw);
  }
};

}  // namespace ddp::rank
