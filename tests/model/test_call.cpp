#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include "base/error.h"
#include "catch.h"
#include "dist/parallel/parallel.h"
#include "errors.h"
#include "model/call.h"
#include "model/next_token.h"
#include "words.h"

namespace ddp::model {
namespace {

struct Two : torch::nn::Cloneable<Two> {
  Two() { reset(); }
  void reset() override { linear = register_module("linear", torch::nn::Linear(4, 3)); }
  at::Tensor forward(at::Tensor x, at::Tensor y) { return linear(x) * y; }
  torch::nn::Linear linear{nullptr};
};

struct Any : torch::nn::Cloneable<Any>, TakesInputs {
  void reset() override {}
  at::Tensor forward(std::vector<at::Tensor> inputs) {
    at::Tensor sum = inputs.front();
    for (std::size_t i = 1; i < inputs.size(); ++i) sum = sum + static_cast<double>(i + 1) * inputs[i];
    return sum;
  }
};

std::vector<at::Tensor> ones(std::size_t count) { return std::vector<at::Tensor>(count, at::ones({2, 3})); }

}  // namespace

TEST_CASE("a number that an embedding has no row for is reported with the range of the inputs") {
  torch::nn::AnyModule embedding(torch::nn::Embedding(10, 3));
  try {
    call(embedding, {at::arange(4, 71)});
    FAIL("a table of 10 rows accepted 70");
  } catch (const c10::IndexError& error) {
    CHECK(contains(error.msg(), "the inputs have values from 4 to 70"));
  }
}

TEST_CASE("a model takes the inputs of a batch in their order") {
  torch::nn::AnyModule two{Two()};
  const at::Tensor x = at::rand({5, 4});
  const at::Tensor y = at::rand({5, 3});
  CHECK(at::equal(main_output(call(two, {x, y})), two.forward(x, y)));
  torch::nn::AnyModule one(torch::nn::Linear(4, 3));
  CHECK(at::equal(main_output(call(one, {x})), one.forward(x)));
}

TEST_CASE("a model that takes a list of inputs takes any number of them") {
  torch::nn::AnyModule any{Any()};
  CHECK(main_output(call(any, ones(1))).sum().item<double>() == 6);
  CHECK(main_output(call(any, ones(3))).sum().item<double>() == 36);
  CHECK(main_output(call(any, ones(9))).sum().item<double>() == 270);
}

TEST_CASE("a named loss takes the only output, logits of a dict, or the first of a list") {
  CHECK(main_place({"output"}) == 0);
  CHECK(main_place({"hidden", "logits"}) == 1);
  CHECK(main_place({"0", "1"}) == 0);
  CHECK(contains(error_of([] { main_place({"hidden", "scores"}); }), "without \"logits\"; it has: hidden, scores"));
}

TEST_CASE("a model that names its inputs refuses another number of them") {
  torch::nn::AnyModule two{Two()};
  CHECK_THROWS_WITH(call(two, ones(1)), Catch::Contains("expects 2 argument(s), but received 1"));
  CHECK(contains(error_of([&] { call(two, ones(kMostNamedInputs + 1)); }), "gives 7 inputs"));
}

TEST_CASE("a batch of several inputs that is split over devices gives the output of the unsplit batch") {
  at::manual_seed(1);
  torch::nn::AnyModule two{Two()};
  const auto split =
      dist::parallels().build("data_parallel", config::Value::object(),
                              {.module = two, .group = nullptr, .devices = {c10::kCPU, c10::kCPU}, .options = {}});
  split->start({});
  const at::Tensor x = at::rand({5, 4});
  const at::Tensor y = at::rand({5, 3});
  CHECK(at::allclose(main_output(split->forward({x, y})), two.forward(x, y)));
}

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
