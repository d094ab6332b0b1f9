#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "catch.h"
#include "search/parzen.h"

namespace ddp::search {
namespace {

const Axis kUnit{.low = 0, .high = 1};
const Axis kLog{.low = 1e-4, .high = 1, .log = true};
const Axis kInteger{.low = 1, .high = 10, .step = 1};
const Axis kLogInteger{.low = 4, .high = 512, .step = 1, .log = true};
const Axis kSteps{.low = 16, .high = 128, .step = 16};
const Axis kThree{.choices = 3};

Parzen estimator(const Axis& axis, const std::vector<double>& values) {
  std::vector<Coordinates> observations;
  for (const double value : values) observations.push_back({value});
  return Parzen({axis}, observations);
}

}  // namespace

TEST_CASE("the mass of a normal distribution is accurate also far out in its tails") {
  // Computed by mpmath with 60 digits.
  for (const auto& [a, b, mass] : std::vector<std::array<double, 3>>{{-1, 2, -0.20016629432446258},
                                                                     {-0.5, 0.25, -1.2372925013224502},
                                                                     {-100, 0, -0.69314718055994531},
                                                                     {-0.01, 0, -5.52412538574832},
                                                                     {0.5, 0.75, -2.5021319204099832},
                                                                     {3, 4, -6.6314677865382251},
                                                                     {-30, -29, -424.78741990973031},
                                                                     {-20.5, -19.5, -194.01696577945859},
                                                                     {-99, -98.5, -4856.634098123714}}) {
    INFO(a << " to " << b);
    CHECK(std::abs(log_normal_mass(a, b) / mass - 1) < 1e-11);
    CHECK(std::abs(log_normal_mass(-b, -a) / mass - 1) < 1e-11);
  }
}

TEST_CASE("the quantiles of a truncated normal distribution equal scipy's") {
  // scipy.stats.truncnorm.ppf(share, a, b) of scipy 1.17.1.
  for (const auto& [share, a, b, x] : std::vector<std::array<double, 4>>{{0.1, -1, 2, -0.704647821094745},
                                                                         {0.999, -1, 2, 1.985063085944169},
                                                                         {0.5, -0.5, 0.25, -0.11651567430093163},
                                                                         {1e-12, -100, 0, -7.130506848171324},
                                                                         {0.3, -100, 0, -1.0364333894937898},
                                                                         {0.75, 0, 3, 1.1454450468547004},
                                                                         {0.9999999, 0, 100, 5.326723886480144},
                                                                         {0, -2, 2, -2.0}}) {
    INFO(share << " of " << a << " to " << b);
    CHECK(std::abs(truncated_normal_quantile(share, a, b) - x) < 1e-8);
  }
  CHECK(truncated_normal_quantile(0, -100, 0) >= -100);
}

TEST_CASE("observations have the weight of the prior, except those before the newest 25") {
  CHECK(parzen_weights(0) == std::vector<double>{1});
  CHECK(parzen_weights(3) == std::vector<double>(4, 0.25));
  CHECK(parzen_weights(24) == std::vector<double>(25, 1.0 / 25));
  // numpy.linspace(1 / 30, 1, 5), then 26 times 1.
  const auto weights = parzen_weights(30);
  REQUIRE(weights.size() == 31);
  for (const auto& [i, weight] : std::vector<std::pair<int, double>>{
           {0, 0.0011661807580174927}, {1, 0.009620991253644314}, {3, 0.026530612244897955}, {5, 0.034985422740524}}) {
    CHECK(std::abs(weights[i] - weight) < 1e-14);
  }
  CHECK(std::abs(std::accumulate(weights.begin(), weights.end(), 0.0) - 1) < 1e-14);
  CHECK(parzen_weights(26).front() < parzen_weights(26).back() / 25);
}

TEST_CASE("a kernel is as wide as the larger gap to its neighbors, within the limits of its axis") {
  // The deviations of Optuna 5.0.0's estimator for the same values.
  for (const auto& [axis, values, deviations] : std::vector<std::tuple<Axis, std::vector<double>, std::vector<double>>>{
           {kUnit, {0.2, 0.9, 0.25}, {0.2, 0.65, 0.65, 1}},
           {kUnit, {}, {1}},
           {kUnit, {0.9}, {0.9, 1}},
           {kUnit, {0.5, 0.5}, {0.25, 0.25, 1}},
           {kLog, {0.001, 0.05}, {3.912023005428146, 3.912023005428146, 9.210340371976182}},
           {kInteger, {3, 3, 8}, {2, 5, 5, 10}},
           {kLogInteger, {16, 20}, {1.2466344356292989, 1.2466344356292989, 4.9865377425171955}},
           {kSteps, {32, 64}, {32, 32, 128}}}) {
    const auto kernels = kernels_around(values, axis);
    REQUIRE(kernels.size() == deviations.size());
    for (std::size_t i = 0; i < kernels.size(); ++i) CHECK(std::abs(kernels[i].deviation - deviations[i]) < 1e-12);
  }
  CHECK(std::abs(kernels_around({0.001}, kLog)[1].mean - std::log(0.01)) < 1e-12);
  const std::vector<double> many(500, 0.3);
  CHECK(std::abs(kernels_around(many, kUnit).front().deviation - 0.01) < 1e-12);
}

TEST_CASE("the density of an estimator equals Optuna's, and its sum over all values is one") {
  // log_pdf of Optuna 5.0.0's estimator, for a log range of numbers times the number.
  for (const auto& [axis, values, expected] :
       std::vector<std::tuple<Axis, std::vector<double>, std::vector<std::pair<double, double>>>>{
           {kUnit, {0.2, 0.9, 0.25}, {{0, -0.016505540582067768}, {0.3, 0.246203933122757}, {1, -0.3605158418909874}}},
           {kUnit, {}, {{0.5, 0.04097780049094957}, {1, -0.08402219950905043}}},
           {kLog, {0.001, 0.05}, {{1e-4, -2.425365214074162}, {0.02, -2.1159821527655147}, {1, -2.5401311091681715}}},
           {kInteger, {3, 3, 8}, {{1, -2.314748892795481}, {3, -2.0274458130201762}, {10, -2.731722155444426}}},
           {kLogInteger, {16, 20}, {{4, -3.1125622436503866}, {17, -4.022311055588522}, {512, -8.927273076403688}}},
           {kSteps, {32, 64}, {{16, -1.9816888378191428}, {48, -1.7181369387585719}, {128, -2.990676452113753}}},
           {kThree, {0, 2, 2}, {{0, -1.0986122886681098}, {1, -1.6582280766035324}, {2, -0.7419373447293772}}}}) {
    const Parzen parzen = estimator(axis, values);
    for (const auto& [value, log_density] : expected) {
      INFO(value << " of " << values.size());
      CHECK(std::abs(parzen.log_density({value}) - log_density) < 1e-11);
    }
  }
  double sum = 0;
  for (int value = 4; value <= 512; ++value)
    sum += std::exp(estimator(kLogInteger, {16, 20}).log_density({value * 1.0}));
  CHECK(std::abs(sum - 1) < 1e-11);
}

TEST_CASE("samples of an estimator are as frequent as its density") {
  std::mt19937_64 engine(1);
  const Parzen parzen({kInteger, kThree}, {{3, 0}, {3, 2}, {8, 2}});
  std::map<std::pair<double, double>, double> counts;
  constexpr int kSamples = 20000;
  for (int i = 0; i < kSamples; ++i) {
    const Coordinates one = parzen.sample(engine);
    counts[{one[0], one[1]}] += 1.0 / kSamples;
  }
  for (int number = 1; number <= 10; ++number) {
    for (int choice = 0; choice < 3; ++choice) {
      const double share = std::exp(parzen.log_density({number * 1.0, choice * 1.0}));
      // Five standard deviations.
      CHECK(std::abs(counts[{number, choice}] - share) < 5 * std::sqrt(share / kSamples));
    }
  }
}

}  // namespace ddp::search
