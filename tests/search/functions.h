#pragma once

#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "config/load/parameter.h"

namespace ddp::search {

// A function to minimize: the same as the one with its name in optuna/compute.py.
struct Function {
  std::string name;
  std::vector<config::Parameter> parameters;
  std::function<double(const std::vector<double>&)> value;
};

inline config::Parameter range(const std::string& key, double min, double max, bool log = false, bool integer = false) {
  config::Parameter parameter;
  parameter.key = key;
  parameter.min = min;
  parameter.max = max;
  parameter.log = log;
  parameter.integer = integer;
  parameter.place.source = config::Source::assignment(1, key);
  return parameter;
}

inline config::Parameter integers(const std::string& key, std::int64_t count) {
  config::Parameter parameter;
  parameter.key = key;
  for (std::int64_t i = 0; i < count; ++i) {
    parameter.choices.push_back({.kind = config::Type::integer, .scalar = i});
  }
  return parameter;
}

inline double sphere(const std::vector<double>& x) { return x[0] * x[0] + x[1] * x[1]; }

inline double rosenbrock(const std::vector<double>& x) {
  return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
}

inline double branin(const std::vector<double>& x) {
  const double pi = std::numbers::pi;
  const double valley = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
  return valley * valley + 10 * (1 - 1 / (8 * pi)) * std::cos(x[0]) + 10;
}

inline double hartmann(const std::vector<double>& x) {
  constexpr double alpha[] = {1.0, 1.2, 3.0, 3.2};
  constexpr double a[][6] = {
      {10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double p[][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                             {2329, 4135, 8307, 3736, 1004, 9991},
                             {2348, 1451, 3522, 2883, 3047, 6650},
                             {4047, 8828, 8732, 5743, 1091, 381}};
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    double distance = 0;
    for (std::size_t j = 0; j < 6; ++j) distance += a[i][j] * std::pow(x[j] - p[i][j] * 1e-4, 2);
    sum -= alpha[i] * std::exp(-distance);
  }
  return sum;
}

inline double mixed(const std::vector<double>& x) {
  constexpr double of_choice[] = {1.0, 0.5, 0.0, 2.0};
  const auto choice = static_cast<std::size_t>(x[3]);
  const double rate = std::log10(x[0]) + 2.5 + (choice == 2 ? 0.5 : 0);
  const double width = std::log2(x[1]) - 6;
  return rate * rate + 0.3 * width * width + 0.2 * std::pow(x[2] - 3, 2) + of_choice[choice];
}

inline std::vector<Function> functions() {
  std::vector<config::Parameter> unit;
  for (int i = 0; i < 6; ++i) unit.push_back(range("x" + std::to_string(i), 0, 1));
  return {{"sphere", {range("x", -5, 5), range("y", -5, 5)}, sphere},
          {"rosenbrock", {range("x", -2, 2), range("y", -1, 3)}, rosenbrock},
          {"branin", {range("x", -5, 10), range("y", 0, 15)}, branin},
          {"hartmann", unit, hartmann},
          {"mixed",
           {range("lr", 1e-5, 1, /*log=*/true), range("units", 4, 512, /*log=*/true, /*integer=*/true),
            range("layers", 1, 8, /*log=*/false, /*integer=*/true), integers("choice", 4)},
           mixed}};
}

}  // namespace ddp::search
