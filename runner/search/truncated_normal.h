#pragma once

namespace ddp::search {

// log of the mass that the standard normal distribution has between a < b; exact to about 1e-12 relative also far out
// in its tails.
double log_normal_mass(double a, double b);

// x with a <= x <= b, below which the share 0 <= share < 1 of the standard normal mass between a and b is. For a <= 0
// <= b: the bounds of a distribution whose centre they include.
double truncated_normal_quantile(double share, double a, double b);

}  // namespace ddp::search
