#include "search/parzen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

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

constexpr std::size_t kNewest = 25;
constexpr double kMostParts = 100;
constexpr double kPrior = -1;

double drawn_share(std::mt19937_64& engine) { return static_cast<double>(engine() >> 11) * 0x1.0p-53; }

double scaled(const Axis& axis, double value) { return axis.log ? std::log(value) : value; }
// A value of an axis with steps stands for half a step on both sides.
double begin_of(const Axis& axis) { return scaled(axis, axis.low - axis.step / 2); }
double end_of(const Axis& axis) { return scaled(axis, axis.high + axis.step / 2); }

// Returns the larger gap to the neighbours of each point. An outermost point has the gap to its only neighbour; a
// single point has the distance to the farther end.
std::vector<double> gaps(const std::vector<double>& points, double begin, double end) {
  if (points.size() == 1) return {std::max(points.front() - begin, end - points.front())};
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  std::vector<double> widths(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double point = points[order[i]];
    const double below = i > 0 ? point - points[order[i - 1]] : 0;
    const double above = i + 1 < order.size() ? points[order[i + 1]] - point : 0;
    widths[order[i]] = std::max(below, above);
  }
  return widths;
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

std::vector<double> parzen_weights(std::size_t observations) {
  std::vector<double> weights(observations + 1, 1);
  const std::size_t older = observations - std::min(observations, kNewest);
  const double least = 1 / static_cast<double>(std::max<std::size_t>(observations, 1));
  for (std::size_t i = 0; i < older; ++i) {
    const double share = older > 1 ? static_cast<double>(i) / static_cast<double>(older - 1) : 0;
    weights[i] = least + share * (1 - least);
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<Kernel> kernels_around(const std::vector<double>& values, const Axis& axis) {
  const double begin = begin_of(axis);
  const double end = end_of(axis);
  const double width = end - begin;
  std::vector<double> means;
  for (const double value : values) means.push_back(scaled(axis, value));
  std::vector<double> widths = gaps(means, begin, end);
  const double least = width / std::min(kMostParts, static_cast<double>(values.size() + 2));
  for (double& one : widths) one = std::clamp(one, least, width);
  means.push_back(begin / 2 + end / 2);
  widths.push_back(width);
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const double log_mass = log_normal_mass((begin - means[i]) / widths[i], (end - means[i]) / widths[i]);
    kernels.push_back({.mean = means[i], .deviation = widths[i], .log_mass = log_mass});
  }
  return kernels;
}

Parzen::Parzen(std::vector<Axis> axes, const std::vector<Coordinates>& observations)
    : axes_(std::move(axes)),
      weights_(parzen_weights(observations.size())),
      kernels_(axes_.size()),
      chosen_(axes_.size()) {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    std::vector<double> values;
    for (const Coordinates& one : observations) values.push_back(one[i]);
    if (axes_[i].choices == 0) {
      kernels_[i] = kernels_around(values, axes_[i]);
    } else {
      values.push_back(kPrior);
      chosen_[i] = std::move(values);
    }
  }
}

Coordinates Parzen::sample(std::mt19937_64& engine) const {
  double rest = drawn_share(engine);
  std::size_t kernel = 0;
  while (kernel + 1 < weights_.size() && rest >= weights_[kernel]) rest -= weights_[kernel++];
  Coordinates values;
  for (std::size_t i = 0; i < axes_.size(); ++i) values.push_back(sample_of(i, kernel, drawn_share(engine)));
  return values;
}

double Parzen::sample_of(std::size_t axis, std::size_t kernel, double share) const {
  const Axis& a = axes_[axis];
  if (a.choices > 0) {
    double choice = 0;
    for (double rest = share; choice + 1 < static_cast<double>(a.choices); ++choice) {
      rest -= std::exp(log_density_of(axis, kernel, choice));
      if (rest < 0) break;
    }
    return choice;
  }
  const Kernel& k = kernels_[axis][kernel];
  const double z =
      truncated_normal_quantile(share, (begin_of(a) - k.mean) / k.deviation, (end_of(a) - k.mean) / k.deviation);
  const double drawn = k.mean + k.deviation * z;
  const double value = a.log ? std::exp(drawn) : drawn;
  const double nearest = a.step > 0 ? a.low + std::round((value - a.low) / a.step) * a.step : value;
  return std::clamp(nearest, a.low, a.high);
}

double Parzen::log_density(const Coordinates& values) const {
  std::vector<double> logs(weights_.size());
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t kernel = 0; kernel < weights_.size(); ++kernel) {
    logs[kernel] = std::log(weights_[kernel]);
    for (std::size_t i = 0; i < axes_.size(); ++i) logs[kernel] += log_density_of(i, kernel, values[i]);
    most = std::max(most, logs[kernel]);
  }
  if (std::isinf(most)) return most;
  double sum = 0;
  for (const double one : logs) sum += std::exp(one - most);
  return most + std::log(sum);
}

double Parzen::log_density_of(std::size_t axis, std::size_t kernel, double value) const {
  const Axis& a = axes_[axis];
  if (a.choices > 0) {
    const auto choices = static_cast<double>(a.choices);
    const double chosen = chosen_[axis][kernel];
    if (chosen == kPrior) return -std::log(choices);
    // One observation has the prior's part spread over all choices.
    const double prior = 1 / static_cast<double>(chosen_[axis].size());
    return std::log(((value == chosen ? 1 : 0) + prior) / (1 + choices * prior));
  }
  const Kernel& k = kernels_[axis][kernel];
  if (a.step > 0) {
    const double from = (scaled(a, value - a.step / 2) - k.mean) / k.deviation;
    const double to = (scaled(a, value + a.step / 2) - k.mean) / k.deviation;
    return log_normal_mass(from, to) - k.log_mass;
  }
  const double z = (scaled(a, value) - k.mean) / k.deviation;
  return -0.5 * z * z - std::log(k.deviation * std::sqrt(2 * std::numbers::pi)) - k.log_mass;
}

}  // namespace ddp::search
