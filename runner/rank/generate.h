#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/option/option.h"

namespace ddp::rank {

// A part of a generated text.
struct Continuation {
  std::string text;  // whole characters: a token may end inside one, which the next part then has
  std::vector<std::int64_t> tokens;

  void fields(config::Fields& f) {
    f({.name = "text"}, text);
    f({.name = "tokens"}, tokens);
  }
};

// Asks one rank to continue a prompt with the weights of the checkpoint that the task goes on from, and with the
// tokenizer in the task's preprocessing. It replies with the prompt, then with each token as it is drawn, and last
// with what stands for a character that was never completed.
struct GenerateRequest {
  using Reply = Continuation;
  static constexpr const char* kVerb = "generate";

  std::string prompt;
  std::int64_t tokens = 0;
  double temperature = 0.8;  // 0: always the token with the greatest score
  std::int64_t top_k = 200;
  std::int64_t seed = 42;
  bool raw = false;  // the weights that training changes, not their average

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
