#include "train/metrics/decision.h"

#include <cmath>
#include <random>

#include <ATen/ops/tensor.h>

#include "catch.h"

namespace ddp::train {
namespace {

// The probabilities and targets of a validation of `rows` rows and three classes.
Decider::Parts drawn(std::uint64_t seed, int rows) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> logit(0, 2);
  std::uniform_int_distribution<int> any(0, 2);
  std::vector<double> part{3, -1};
  for (int row = 0; row < rows; ++row) {
    double p[3], sum = 0;
    for (double& one : p) sum += one = std::exp(logit(random));
    for (double& one : p) one /= sum;
    const double likely = static_cast<double>(std::max_element(p, p + 3) - p);
    part.push_back(row % 3 == 0 ? any(random) : likely);
    part.insert(part.end(), p, p + 3);
  }
  return {part};
}

double log_loss_at(const Decider::Parts& parts, double temperature) {
  return Decider::calibration(parts, {.temperature = temperature, .isotonic = {}, .threshold = {}}).log_loss;
}

}  // namespace

TEST_CASE("a temperature is the least of the log loss, for any number of rows") {
  const Decider decider({.threshold = {}, .calibrate = "temperature"});
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Decider::Parts parts = drawn(seed, 6 + static_cast<int>(seed % 40));
    const double fitted = *decider.fit(parts).temperature;
    const double least = log_loss_at(parts, fitted);
    INFO("seed " << seed << ", temperature " << fitted);
    for (const double factor : {0.5, 0.99, 1.01, 2.0}) CHECK(least <= log_loss_at(parts, fitted * factor) + 1e-12);
  }
}

TEST_CASE("isotonic probabilities of several classes add up to 1, also where no class has any") {
  const Decider decider({.threshold = {}, .calibrate = "isotonic"});
  const Decision decision = decider.fit(drawn(3, 30));
  REQUIRE(decision.isotonic.size() == 3);
  const at::Tensor p = at::tensor({0.2, 0.3, 0.5, 0.0, 0.0, 0.0}, at::kDouble).reshape({2, 3});
  const at::Tensor sums = decision.calibrated(p).sum(1);
  for (int row = 0; row < 2; ++row) CHECK(std::abs(sums[row].item<double>() - 1) < 1e-12);
  const at::Tensor pixels = decision.calibrated(p.reshape({2, 3, 1, 1}).expand({2, 3, 4, 5}));
  CHECK(pixels.sizes() == at::IntArrayRef({2, 3, 4, 5}));
  CHECK(pixels.sum(1).sub(1).abs().max().item<double>() < 1e-12);
}

}  // namespace ddp::train
