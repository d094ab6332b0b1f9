#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace ddp::search {

// Returns the log of the standard normal distribution's mass between a < b. The relative error is about 1e-12, also far
// out in the tails.
double log_normal_mass(double a, double b);

// Returns x with a <= x <= b such that the fraction 0 <= share < 1 of the standard normal mass between a and b lies
// below x. Requires a <= 0 <= b: the bounds must include the distribution's centre.
double truncated_normal_quantile(double share, double a, double b);

// The possible values of one parameter, as numbers: a range, or 0, 1, … for a list of choices.
struct Axis {
  double low = 0;
  double high = 0;
  double step = 0;  // between neighbouring values; 0: every number
  bool log = false;
  std::int64_t choices = 0;  // 0: a range
};

// A value for each axis.
using Coordinates = std::vector<double>;

// Returns the weights of n observations, the oldest first, then the prior's weight; their sum is 1. The newest 25 weigh
// as much as the prior; the weights of older ones fall with their age.
std::vector<double> parzen_weights(std::size_t observations);

// A normal distribution cut off at the ends of its axis: its mean, its deviation, and the log of the remaining mass. On
// the axis's scale: logarithms if `log` is set.
struct Kernel {
  double mean = 0;
  double deviation = 0;
  double log_mass = 0;
};

// Makes a kernel around each value of a range. Its width is the larger gap to its neighbours, but at least the axis /
// min(100, values + 2). The last kernel is the prior: as wide as the axis, at its centre.
std::vector<Kernel> kernels_around(const std::vector<double>& values, const Axis& axis);

// A Parzen estimator (Bergstra et al., Algorithms for Hyper-Parameter Optimization, 2011) with the rules of Optuna's
// TPESampler: a mixture of one kernel for each observation, and of an almost uniform prior.
class Parzen {
 public:
  // `observations`: the oldest first.
  Parzen(std::vector<Axis> axes, const std::vector<Coordinates>& observations);

  Coordinates sample(std::mt19937_64& engine) const;
  // Returns the log of the density at these values; on a log axis, of the density of the value's logarithm.
  double log_density(const Coordinates& values) const;

 private:
  double sample_of(std::size_t axis, std::size_t kernel, double share) const;
  double log_density_of(std::size_t axis, std::size_t kernel, double value) const;

  const std::vector<Axis> axes_;
  std::vector<double> weights_;               // of each kernel
  std::vector<std::vector<Kernel>> kernels_;  // of each axis that is a range
  std::vector<std::vector<double>> chosen_;   // of each axis that is a list: observed choices; less than 0: the prior
};

}  // namespace ddp::search
