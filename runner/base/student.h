#pragma once

#include <optional>
#include <vector>

namespace ddp {

// Tests and intervals for means of numbers that are normal. The number of degrees of freedom may be any above 0.

// Returns the probability that Student's t with so many degrees of freedom is below `t`.
double student_below(double t, double freedom);
// Returns the t that it is below with the probability 0 < share < 1.
double student_quantile(double share, double freedom);

// The mean of n numbers, and their standard deviation with n - 1 in the divisor (NaN for one number).
struct Spread {
  std::size_t n = 0;
  double mean = 0;
  double deviation = 0;
};
Spread spread_of(const std::vector<double>& numbers);

// The 95 % interval of a mean, and the probability of one at least so far from 0 if the true one is 0, on both sides.
struct MeanTest {
  double mean = 0;
  double low = 0, high = 0;
  double p = 1;
};
// `per_number`: the variance of the mean as a share of that of a number: 1 / n for independent ones, and 1 / n +
// test / train for the folds of a cross-validation (Nadeau and Bengio 2003). Numbers that are all equal: p is 1 for 0,
// else 0. Nothing for fewer than two numbers.
std::optional<MeanTest> mean_test(const std::vector<double>& numbers, double per_number);

// A test of "the mean is 0" that may be looked at after each number: with a true mean of 0 the probability that the
// evidence ever reaches 1 / alpha is at most alpha (Ville). It is the ratio of the likelihoods of the t statistic with
// a normal prior of the standardised mean, with variance 1, and with 0. All 0: 1.
double evidence_of_mean(const std::vector<double>& differences);
// The means that the evidence does not exclude at this alpha; nothing: there is no bound yet.
struct Bounds {
  double low = 0, high = 0;
};
std::optional<Bounds> means_within(const std::vector<double>& differences, double alpha);
// The most evidence that so many differences can give: for equal ones that are not 0.
double most_evidence(std::size_t n);

}  // namespace ddp
