#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include "base/error.h"
#include "catch.h"
#include "dist/parallel/parallel.h"
#include "errors.h"
#include "model/call.h"

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
    CHECK(error.msg().find("the inputs have values from 4 to 70") != std::string::npos);
  }
}

TEST_CASE("a model takes the inputs of a batch in their order") {
  torch::nn::AnyModule two{Two()};
  const at::Tensor x = at::rand({5, 4});
  const at::Tensor y = at::rand({5, 3});
  CHECK(at::equal(call(two, {x, y}), two.forward(x, y)));
  torch::nn::AnyModule one(torch::nn::Linear(4, 3));
  CHECK(at::equal(call(one, {x}), one.forward(x)));
}

TEST_CASE("a model that takes a list of inputs takes any number of them") {
  torch::nn::AnyModule any{Any()};
  CHECK(call(any, ones(1)).sum().item<double>() == 6);
  CHECK(call(any, ones(3)).sum().item<double>() == 36);
  CHECK(call(any, ones(9)).sum().item<double>() == 270);
}

TEST_CASE("a model that names its inputs refuses another number of them") {
  torch::nn::AnyModule two{Two()};
  CHECK_THROWS_WITH(call(two, ones(1)), Catch::Contains("expects 2 argument(s), but received 1"));
  CHECK(error_of([&] { call(two, ones(kMostNamedInputs + 1)); }).find("gives 7 inputs") != std::string::npos);
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
  CHECK(at::allclose(split->forward({x, y}), two.forward(x, y)));
}

}  // namespace ddp::model
