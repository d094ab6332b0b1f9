#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace ddp::search {

// The values that one parameter may have, as numbers: of a range, or 0, 1, … of so many choices.
struct Axis {
  double low = 0;
  double high = 0;
  double step = 0;  // between one value and the next; 0: every number
  bool log = false;
  std::int64_t choices = 0;  // 0: a range
};

// A value for each axis.
using Coordinates = std::vector<double>;

// The weights of n observations, the oldest first, and of the prior behind them; their sum is 1. The newest 25 count as
// much as the prior; those before them the less the older they are.
std::vector<double> parzen_weights(std::size_t observations);

// A normal distribution that is cut off at the ends of its axis: where it is highest, how wide it is, and the log of
// the mass that is left of it. On the scale of the axis: of logarithms, where it is log.
struct Kernel {
  double mean = 0;
  double deviation = 0;
  double log_mass = 0;
};

// A kernel around each of the values of a range, as wide as the larger gap to its neighbours, but no narrower than the
// axis / min(100, values + 2); behind them the prior, which is as wide as the axis, around its centre.
std::vector<Kernel> kernels_around(const std::vector<double>& values, const Axis& axis);

// A Parzen estimator (Bergstra et al., Algorithms for Hyper-Parameter Optimization, 2011) with the rules of Optuna's
// TPESampler: a mixture of one kernel for each observation, and of a prior that is nearly even.
class Parzen {
 public:
  // `observations`: the oldest first.
  Parzen(std::vector<Axis> axes, const std::vector<Coordinates>& observations);

  Coordinates sample(std::mt19937_64& engine) const;
  // log of the density at these values, of a log axis by its logarithm.
  double log_density(const Coordinates& values) const;

 private:
  double sample_of(std::size_t axis, std::size_t kernel, double share) const;
  double log_density_of(std::size_t axis, std::size_t kernel, double value) const;

  const std::vector<Axis> axes_;
  std::vector<double> weights_;               // of each kernel
  std::vector<std::vector<Kernel>> kernels_;  // of each axis that is a range
  std::vector<std::vector<double>> chosen_;   // of each axis that is a list: what was observed; less than 0: the prior
};

}  // namespace ddp::search
