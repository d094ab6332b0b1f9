#include "base/student.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddp {
namespace {

// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMost = 100'000;
  const auto away_from_0 = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1)), product = d;
  for (int m = 1; m < kMost; ++m) {
    double factor = 1;
    for (const double term : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                              -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 / away_from_0(1 + term * d);
      c = away_from_0(1 + term / c);
      factor *= c * d;
    }
    product *= factor;
    if (std::abs(factor - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return product;
}

// The regularised incomplete beta function I_x(a, b).
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast on this side of the mean.
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

// The probability of a |t| of at least this.
double beyond(double t, double freedom) {
  return std::isinf(t) ? 0 : incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

bool all_equal(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [&](double one) { return one == numbers.front(); });
}

// The factor of the evidence that does not depend on t.
double least_evidence(double n) { return 1 / std::sqrt(1 + n); }

}  // namespace

double student_below(double t, double freedom) {
  const double tail = beyond(t, freedom) / 2;
  return t < 0 ? tail : 1 - tail;
}

double student_quantile(double share, double freedom) {
  if (share == 0.5) return 0;
  // The tail is found by its logarithm, which falls with t: bracketed, then halved down to neighbouring doubles.
  const double tail = std::min(share, 1 - share) * 2;
  double low = 0, high = 1;
  while (beyond(high, freedom) > tail) high *= 2;
  for (int i = 0; i < 200 && std::nextafter(low, high) < high; ++i) {
    const double middle = low + (high - low) / 2;
    (beyond(middle, freedom) > tail ? low : high) = middle;
  }
  return share < 0.5 ? -high : high;
}

Spread spread_of(const std::vector<double>& numbers) {
  Spread spread{.n = numbers.size(), .deviation = std::numeric_limits<double>::quiet_NaN()};
  for (const double one : numbers) spread.mean += one / static_cast<double>(spread.n);
  double squares = 0;
  for (const double one : numbers) squares += (one - spread.mean) * (one - spread.mean);
  if (spread.n > 1) spread.deviation = all_equal(numbers) ? 0 : std::sqrt(squares / static_cast<double>(spread.n - 1));
  if (!numbers.empty() && all_equal(numbers)) spread.mean = numbers.front();
  return spread;
}

std::optional<MeanTest> mean_test(const std::vector<double>& numbers, double per_number) {
  if (numbers.size() < 2) return std::nullopt;
  const Spread spread = spread_of(numbers);
  const double freedom = static_cast<double>(numbers.size()) - 1;
  const double error = spread.deviation * std::sqrt(per_number);
  const double reach = error * student_quantile(0.975, freedom);
  MeanTest test{.mean = spread.mean, .low = spread.mean - reach, .high = spread.mean + reach};
  if (spread.mean != 0) test.p = error == 0 ? 0 : beyond(spread.mean / error, freedom);
  return test;
}

double most_evidence(std::size_t n) {
  const auto count = static_cast<double>(n);
  return n < 2 ? 1 : std::pow(1 + count, (count - 1) / 2);
}

double evidence_of_mean(const std::vector<double>& differences) {
  const Spread spread = spread_of(differences);
  if (spread.n < 2) return 1;
  if (spread.deviation == 0) return spread.mean == 0 ? 1 : most_evidence(spread.n);
  const auto n = static_cast<double>(spread.n);
  const double freedom = n - 1, t = spread.mean / (spread.deviation / std::sqrt(n));
  const double ratio = (1 + t * t / freedom) / (1 + t * t / ((1 + n) * freedom));
  return least_evidence(n) * std::pow(ratio, (freedom + 1) / 2);
}

std::optional<Bounds> means_within(const std::vector<double>& differences, double alpha) {
  const Spread spread = spread_of(differences);
  if (spread.n < 2) return std::nullopt;
  const auto n = static_cast<double>(spread.n);
  const double freedom = n - 1;
  // The evidence grows with t²: the t² that has 1 / alpha.
  const double ratio = std::pow(1 / (alpha * least_evidence(n)), 2 / (freedom + 1));
  if (ratio >= 1 + n) return std::nullopt;
  const double t = std::sqrt(std::max(0.0, (ratio - 1) * freedom / (1 - ratio / (1 + n))));
  const double reach = t * spread.deviation / std::sqrt(n);
  return Bounds{.low = spread.mean - reach, .high = spread.mean + reach};
}

}  // namespace ddp
