#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/ones.h>
#include <torch/nn/module.h>

#include "catch.h"
#include "errors.h"
#include "model/next_token.h"
#include "words.h"

namespace ddp::model {
namespace {

// Predicts that the next token is the same as the given one.
struct Repeats : torch::nn::Module {
  at::Tensor forward(at::Tensor tokens) { return at::one_hot(tokens, 9); }
};

struct ScoresOne : torch::nn::Module, ScoresNextToken {
  at::Tensor forward(at::Tensor tokens) { return tokens; }
  at::Tensor next_token_scores(const at::Tensor& tokens) override { return at::ones({tokens.size(0), 2}); }
};

}  // namespace

TEST_CASE("the scores of the next token are the scores at the last position") {
  torch::nn::AnyModule model(std::make_shared<Repeats>());
  const at::Tensor tokens = at::arange(8).view({2, 4});
  const at::Tensor scores = next_token_scores(model, tokens);
  CHECK(at::equal(scores, at::one_hot(tokens.select(1, 3), 9)));
}

TEST_CASE("a model that can score the next token alone is called for it") {
  torch::nn::AnyModule model(std::make_shared<ScoresOne>());
  CHECK(at::equal(next_token_scores(model, at::arange(6).view({3, 2})), at::ones({3, 2})));
}

TEST_CASE("a model whose outputs are not scores at every position is refused with both shapes") {
  struct Flat : torch::nn::Module {
    at::Tensor forward(at::Tensor tokens) { return tokens; }
  };
  torch::nn::AnyModule model(std::make_shared<Flat>());
  const std::string error = error_of([&] { next_token_scores(model, at::arange(6).view({3, 2})); });
  CHECK(contains(error, "[3, 2]"));
  CHECK(contains(error, "[n, t, vocab_size]"));
}

}  // namespace ddp::model
