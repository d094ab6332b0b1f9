#include "search/truncated_normal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace ddp::search {
namespace {

// Below it, erfc loses digits to denormal numbers.
constexpr double kTail = -20;

double mass_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double density_at(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi); }

// log(mass_below(x)); in the tail by its asymptotic series (Abramowitz and Stegun, 26.2.12).
double log_mass_below(double x) {
  if (x > kTail) return std::log(mass_below(x));
  const double r = 1 / (x * x);
  const double series = -r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r * (1 - 9 * r * (1 - 11 * r)))));
  return -0.5 * x * x - 0.5 * std::log(2 * std::numbers::pi) - std::log(-x) + std::log1p(series);
}

// Returns x with mass_below(x) = mass <= 0.5: a rational approximation (Abramowitz and Stegun, 26.2.23; within 4.5e-4),
// then Halley's method, each step of which triples the number of correct digits.
double lower_quantile(double mass) {
  if (mass <= 0) return -std::numeric_limits<double>::infinity();
  const double t = std::sqrt(-2 * std::log(mass));
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int step = 0; step < 2; ++step) {
    const double error = (mass_below(x) - mass) / density_at(x);
    x -= error / (1 + 0.5 * x * error);
  }
  return x;
}

}  // namespace

double log_normal_mass(double a, double b) {
  if (a > 0) return log_normal_mass(-b, -a);
  if (b > 0) return std::log1p(-mass_below(a) - mass_below(-b));
  const double upper = log_mass_below(b);
  return upper + std::log1p(-std::exp(log_mass_below(a) - upper));
}

double truncated_normal_quantile(double share, double a, double b) {
  const double below = mass_below(a);
  const double above = mass_below(-b);
  const double mass = 1 - below - above;
  const double under = below + share * mass;
  const double over = above + (1 - share) * mass;
  // The smaller side, where the mass keeps all of its digits.
  const double x = under < over ? lower_quantile(under) : -lower_quantile(over);
  return std::clamp(x, a, b);
}

}  // namespace ddp::search
