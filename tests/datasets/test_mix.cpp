#include <array>
#include <cmath>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>

#include "catch.h"
#include "datasets/image/mix.h"
#include "errors.h"

namespace ddp::datasets {
namespace {

using config::Value;

constexpr std::int64_t kMixedClasses = 4;

Batch batch_to_mix() {
  return Batch(at::arange(3 * 2 * 6 * 5).to(at::kFloat).view({3, 2, 6, 5}), at::tensor({2, 0, 3}, at::kLong));
}

Batch mixed(const Value& list, const MicroBatchPosition& place) {
  Batch batch = batch_to_mix();
  Mixer(list, /*seed=*/42).mix(batch, place, kMixedClasses);
  return batch;
}

TEST_CASE("variates of Beta(alpha, alpha) have its mean and variance") {
  for (const double alpha : {0.01, 0.2, 1.0, 4.0}) {
    constexpr int kDraws = 20000;
    double sum = 0;
    double squares = 0;
    Draws draws(7, 0, 0);
    for (int i = 0; i < kDraws; ++i) {
      const double x = draw_beta(alpha, draws);
      CHECK((x >= 0 && x <= 1));
      sum += x - 0.5;
      squares += (x - 0.5) * (x - 0.5);
    }
    INFO("alpha " << alpha);
    CHECK(std::abs(sum / kDraws) < 0.015);
    CHECK(std::abs(squares / kDraws * 4 * (2 * alpha + 1) - 1) < 0.05);
  }
}

TEST_CASE("MixUp adds to each image and its label a share of the previous one") {
  const Batch before = batch_to_mix();
  const Batch after = mixed({{{"type", "MixUp"}, {"alpha", 1.0}}}, {.step = 3});
  const at::Tensor& labels = after.targets.front().second;
  REQUIRE(labels.sizes() == at::IntArrayRef({3, kMixedClasses}));
  const double share = labels[0][2].item<float>();
  CHECK(share > 0);
  CHECK(share < 1);
  CHECK(std::abs(labels[0][3].item<float>() - (1 - share)) < 1e-6);  // of the last sample
  CHECK(std::abs(labels[1][0].item<float>() - share) < 1e-6);
  const at::Tensor& images = before.inputs.front().second;
  CHECK(after.inputs.front().second.allclose(images.mul(share) + images.roll({1}, {0}).mul(1 - share), 1e-5, 1e-4));
}

TEST_CASE("CutMix puts a box of the previous image into each image, and the label has the box's share") {
  const at::Tensor images = batch_to_mix().inputs.front().second;
  int cut = 0;
  for (std::int64_t step = 0; step < 50; ++step) {
    const Batch after = mixed({{{"type", "CutMix"}}}, {.step = step});
    const at::Tensor foreign = after.inputs.front().second.eq(images.roll({1}, {0}));
    CHECK(foreign.logical_or(after.inputs.front().second.eq(images)).all().item<bool>());
    const at::Tensor box = foreign[0][0];
    const auto rows = box.any(1).sum().item<std::int64_t>();
    const auto columns = box.any(0).sum().item<std::int64_t>();
    CHECK(box.sum().item<std::int64_t>() == rows * columns);
    CHECK(foreign.eq(box).all().item<bool>());
    const double share = static_cast<double>(rows * columns) / (6 * 5);
    CHECK(std::abs(after.targets.front().second[0][3].item<float>() - share) < 1e-6);
    CHECK(std::abs(after.targets.front().second[0][2].item<float>() - (1 - share)) < 1e-6);
    cut += rows * columns > 0 ? 1 : 0;
  }
  CHECK(cut > 25);
}

TEST_CASE("each mix is equally likely, and the choice depends on the place alone") {
  const Value both = {{{"type", "MixUp"}}, {{"type", "CutMix"}}};
  int cuts = 0;
  for (std::int64_t step = 0; step < 400; ++step) {
    const Batch after = mixed(both, {.step = step});
    const at::Tensor images = after.inputs.front().second;
    // MixUp changes every number.
    cuts += images.eq(batch_to_mix().inputs.front().second).any().item<bool>() ||
                    images.equal(batch_to_mix().inputs.front().second.roll({1}, {0}))
                ? 1
                : 0;
  }
  CHECK(std::abs(cuts - 200) < 40);
  const auto images = [&](const MicroBatchPosition& place) { return mixed(both, place).inputs.front().second; };
  const MicroBatchPosition place{.step = 1, .micro_batch = 1, .rank = 1};
  CHECK(at::equal(images(place), images(place)));
  CHECK_FALSE(at::equal(images(place), images({.step = 2, .micro_batch = 1, .rank = 1})));
  CHECK_FALSE(at::equal(images(place), images({.step = 1, .micro_batch = 2, .rank = 1})));
  CHECK_FALSE(at::equal(images(place), images({.step = 1, .micro_batch = 1, .rank = 2})));
}

TEST_CASE("without a mix a batch stays unchanged") {
  const Batch after = mixed(Value::array(), {});
  CHECK(at::equal(after.targets.front().second, batch_to_mix().targets.front().second));
}

}  // namespace
}  // namespace ddp::datasets
