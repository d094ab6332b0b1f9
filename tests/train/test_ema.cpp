#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand_like.h>
#include <torch/nn/modules/batchnorm.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "catch.h"
#include "train/optim/ema.h"

namespace ddp::train {
namespace {

// One parameter trains, the other is frozen; the buffers change.
struct Averaged {
  Averaged() {
    torch::nn::BatchNorm1d norm(5);
    norm->bias.requires_grad_(false);
    model =
        dist::parallels().build("single", config::Value::object(),
                                {.module = torch::nn::AnyModule(norm), .group = nullptr, .devices = {}, .options = {}});
  }
  void change() const {
    const at::NoGradGuard no_grad;
    for (const auto* list : {&model->parameters(), &model->buffers()}) {
      for (const auto& [name, tensor] : *list) {
        if (tensor.is_floating_point()) tensor.copy_(at::rand_like(tensor));
      }
    }
  }
  at::Tensor weight() const { return model->parameters().front().second.detach(); }

  std::unique_ptr<dist::Parallel> model;
};

at::Tensor named_in(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
  }
  throw std::runtime_error("no " + name);
}

}  // namespace

TEST_CASE("the first update of an average copies, and later ones have the bits of torch's lerp") {
  const Averaged a;
  Ema ema({.decay = 0.9, .every = 2}, *a.model, nullptr);
  const at::Tensor first = a.weight().clone();
  a.change();
  ema.step_done(1);
  CHECK(at::equal(named_in(ema.weights(), "weight"), first));
  ema.step_done(2);
  at::Tensor expected = a.weight().clone();
  CHECK(at::equal(named_in(ema.weights(), "weight"), expected));
  a.change();
  ema.step_done(3);
  ema.step_done(4);
  at::_foreach_lerp_({expected}, {a.weight()}, 1 - 0.9);
  CHECK(at::equal(named_in(ema.weights(), "weight"), expected));
  CHECK(at::equal(named_in(ema.weights(), "running_mean"), named_in(a.model->buffers(), "running_mean")));
}

TEST_CASE("a model has its averaged weights while they are in place, and its own weights afterwards") {
  const Averaged a;
  Ema ema({.decay = 0.5, .every = 3}, *a.model, nullptr);
  ema.step_done(3);
  const at::Tensor average = a.weight().clone();
  const at::Tensor mean = named_in(a.model->buffers(), "running_mean").clone();
  a.change();
  const at::Tensor own = a.weight().clone();
  {
    const Ema::InPlace averaged(&ema);
    CHECK(at::equal(a.weight(), average));
    CHECK(at::equal(named_in(a.model->buffers(), "running_mean"), mean));
  }
  CHECK(at::equal(a.weight(), own));
  CHECK(a.model->parameters().front().second.requires_grad());
}

TEST_CASE("a saved average resumes, and an average of another model is refused") {
  const Averaged a;
  Ema ema({.decay = 0.5, .every = 1}, *a.model, nullptr);
  ema.step_done(1);
  const NamedTensors saved = ema.weights();
  const Averaged b;
  b.change();
  Ema restored({.decay = 0.5, .every = 1}, *b.model, nullptr);
  restored.load(saved, "ema.safetensors");
  restored.restore(config::Value::parse(ema.state().dump()));
  CHECK(at::equal(named_in(restored.weights(), "weight"), named_in(saved, "weight")));
  CHECK(restored.state().at("updates") == 1);
  CHECK_THROWS_AS(restored.load({saved.front()}, "ema.safetensors"), Error);
  CHECK_THROWS_AS(restored.load({{"weight", at::rand_like(saved.front().second).view({5, 1})}}, "ema.safetensors"),
                  Error);
}

}  // namespace ddp::train
