#pragma once

namespace ddp::search {

// Returns the log of the standard normal distribution's mass between a < b. The relative error is about 1e-12, also far
// out in the tails.
double log_normal_mass(double a, double b);

// Returns x with a <= x <= b such that the fraction 0 <= share < 1 of the standard normal mass between a and b lies
// below x. Requires a <= 0 <= b: the bounds must include the distribution's centre.
double truncated_normal_quantile(double share, double a, double b);

}  // namespace ddp::search
