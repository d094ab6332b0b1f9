#include <limits>

#include <ATen/ops/full.h>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "train/rules/scaler.h"

namespace ddp::train {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("the scale halves after a gradient that is not finite, and doubles after 2000 steps in a row") {
  Scaler scaler;
  CHECK(scaler.scale() == 65536);
  CHECK(scaler.scaled(at::full({}, 0.5)).item<double>() == 32768);
  CHECK_FALSE(scaler.unscale({at::full({2}, 1.0), at::full({2}, kInfinite)}));
  CHECK(scaler.scale() == 32768);
  const at::Tensor gradient = at::full({2}, 1.0);
  for (int step = 1; step < 2000; ++step) CHECK(scaler.unscale({gradient.clone()}));
  CHECK(scaler.scale() == 32768);
  CHECK(scaler.unscale({gradient}));
  CHECK(gradient[0].item<double>() == 1.0 / 32768);
  CHECK(scaler.scale() == 65536);
}

TEST_CASE("a saved scale resumes, and a damaged one is refused") {
  Scaler scaler;
  scaler.unscale({at::full({2}, kInfinite)});
  scaler.unscale({at::full({2}, 1.0)});
  Scaler restored;
  restored.restore(config::Value::parse(scaler.state().dump()));
  CHECK(restored.state() == scaler.state());
  CHECK(restored.scale() == 32768);
  CHECK_THROWS(restored.restore({{"scale", -1}, {"growth_tracker", 0}}));
  CHECK_THROWS(restored.restore({{"scale", 1}}));
}

}  // namespace ddp::train
