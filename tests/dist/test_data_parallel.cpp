#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include "base/error.h"
#include "catch.h"
#include "config/experiment.h"
#include "dist/parallel/data_parallel.h"
#include "dist/parallel/parallel.h"
#include "errors.h"
#include "words.h"

namespace ddp::dist {
namespace {

const std::vector<c10::Device> kTwo{c10::kCPU, c10::kCPU};

// Draws in its forward, so its output shows the generator's numbers.
struct Dropping : torch::nn::Cloneable<Dropping> {
  Dropping() { reset(); }
  void reset() override {
    linear = register_module("linear", torch::nn::Linear(8, 8));
    dropout = register_module("dropout", torch::nn::Dropout(0.5));
  }
  at::Tensor forward(at::Tensor x) { return dropout(linear(x)); }
  torch::nn::Linear linear{nullptr};
  torch::nn::Dropout dropout{nullptr};
};

struct Plain : torch::nn::Module {
  Plain() { linear = register_module("linear", torch::nn::Linear(8, 8)); }
  at::Tensor forward(at::Tensor x) { return linear(x); }
  torch::nn::Linear linear{nullptr};
};

// Can be copied, but holds a part that cannot.
struct Holding : torch::nn::Cloneable<Holding> {
  Holding() { reset(); }
  void reset() override { part = register_module("part", std::make_shared<Plain>()); }
  at::Tensor forward(at::Tensor x) { return part->forward(x); }
  std::shared_ptr<Plain> part;
};

std::string refusal(torch::nn::AnyModule module) {
  const auto parallel =
      parallels().build("data_parallel", config::Value::object(),
                        {.module = std::move(module), .group = nullptr, .devices = kTwo, .options = {}});
  return error_of([&] { parallel->start({}); });
}

}  // namespace

TEST_CASE("a batch that is split over devices gives the gradients of the unsplit batch") {
  at::manual_seed(1);
  torch::nn::AnyModule split(torch::nn::Linear(8, 3));
  torch::nn::AnyModule whole = split.clone();
  const at::Tensor input = at::rand({7, 8});
  const at::Tensor output = data_parallel(split, {input}, {c10::kCPU, c10::kCPU, c10::kCPU});
  const at::Tensor expected = whole.forward(input);
  CHECK(at::allclose(output, expected));
  output.square().sum().backward();
  expected.square().sum().backward();
  for (const auto& parameter : split.ptr()->named_parameters()) {
    CHECK(at::allclose(parameter.value().grad(), whole.ptr()->named_parameters()[parameter.key()].grad()));
  }
}

TEST_CASE("copying a module draws nothing and its forward draws the same numbers with any number of threads") {
  const int threads_before = at::get_num_threads();
  at::manual_seed(1);
  torch::nn::AnyModule module{Dropping()};
  const at::Tensor input = at::rand({64, 8});
  at::Tensor first;
  at::Tensor next_draw;
  for (const int threads : {1, 2, 2, 2, 4}) {
    at::set_num_threads(threads);
    at::manual_seed(5);
    const at::Tensor output = data_parallel(module, {input}, kTwo);
    const at::Tensor draw = at::rand({1});
    if (!first.defined()) {
      first = output;
      next_draw = draw;
    }
    CHECK(at::equal(output.ne(0), first.ne(0)));
    CHECK(at::equal(draw, next_draw));
  }
  at::set_num_threads(threads_before);
}

TEST_CASE("a model that cannot be copied is refused and so is a model with such a part") {
  CHECK(refusal(torch::nn::AnyModule(Dropping())) == "");
  CHECK(contains(refusal(torch::nn::AnyModule(Plain())), "cannot be copied onto several devices"));
  CHECK(contains(refusal(torch::nn::AnyModule(Holding())), "cannot be copied onto several devices"));
}

}  // namespace ddp::dist
