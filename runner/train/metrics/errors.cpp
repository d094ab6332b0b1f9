#include <algorithm>
#include <cmath>
#include <limits>

#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

double absolute_error(double error, double /*target*/) { return std::abs(error); }
double squared_error(double error, double /*target*/) { return error * error; }
// mean_absolute_percentage_error of scikit-learn divides by no less than the precision of its numbers.
double relative_error(double error, double target) {
  return std::abs(error) / std::max(std::abs(target), std::numeric_limits<double>::epsilon());
}

constexpr std::int64_t kMostToldApart = 64;  // outputs of more are no targets with names, but pictures

// mean_absolute_error, mean_squared_error and mean_absolute_percentage_error of scikit-learn over all targets. A part:
// the number of targets, then the sum of their errors; of several targets in a row, then the sum of each.
class MeanError final : public Metric {
 public:
  using Measure = double (*)(double error, double target);
  explicit MeanError(Measure measure) : measure_(measure) {}

  void add(const Scores& batch, Statistics& statistics) const override {
    const std::int64_t columns = batch.columns();
    const std::int64_t size = batch.rows() * columns;
    const std::int64_t told_apart = columns > 1 && columns <= kMostToldApart ? columns : 0;
    auto& part = statistics.part_of_batch(2 + static_cast<std::size_t>(told_apart));
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const double error = measure_(batch.outputs()[i] - batch.targets()[i], batch.targets()[i]);
      sum += error;
      if (told_apart > 0) part[2 + i % columns] += error;
    }
    part[0] += static_cast<double>(size);
    part[1] += sum;
  }

  bool join(std::vector<double>& sum, const std::vector<double>& next) const override {
    if (sum.size() != next.size()) sum.resize(2);  // batches with other targets: over all of them alone
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += next[i];
    return true;
  }

  double value(const Statistics& all) const override { return all.parts().front()[1] / all.parts().front()[0]; }

  std::vector<double> values_of_targets(const Statistics& all) const override {
    const auto& sums = all.parts().front();
    const auto targets = static_cast<double>(sums.size()) - 2;
    std::vector<double> values;
    for (std::size_t i = 2; i < sums.size(); ++i) values.push_back(sums[i] / (sums[0] / targets));
    return values;
  }

 private:
  const Measure measure_;
};

// root_mean_squared_error of scikit-learn, averaged over the targets of a row. A part: the number of rows, then the sum
// of squared errors of each target.
class RootError final : public Metric {
 public:
  void add(const Scores& batch, Statistics& statistics) const override {
    const std::int64_t columns = batch.columns();
    auto& part = statistics.part_of_batch(static_cast<std::size_t>(columns) + 1);
    part[0] += static_cast<double>(batch.rows());
    const double* output = batch.outputs();
    const double* target = batch.targets();
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      for (std::int64_t i = 0; i < columns; ++i) {
        const double error = *output++ - *target++;
        part[1 + i] += error * error;
      }
    }
  }

  bool join(std::vector<double>& sum, const std::vector<double>& next) const override {
    require_as_many_targets("rmse", sum.size(), next.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += next[i];
    return true;
  }

  double value(const Statistics& all) const override {
    const auto& sums = all.parts().front();
    double of_targets = 0;
    for (std::size_t i = 1; i < sums.size(); ++i) of_targets += std::sqrt(sums[i] / sums[0]);
    return of_targets / static_cast<double>(sums.size() - 1);
  }

  std::vector<double> values_of_targets(const Statistics& all) const override {
    const auto& sums = all.parts().front();
    std::vector<double> values;
    for (std::size_t i = 1; i < sums.size(); ++i) values.push_back(std::sqrt(sums[i] / sums[0]));
    return values;
  }
};

// median_absolute_error of scikit-learn, averaged over the targets of a row.
class MedianError final : public Metric {
 public:
  void add(const Scores& batch, Statistics& statistics) const override {
    const std::int64_t columns = batch.columns();
    for (std::int64_t i = 0; i < batch.rows() * columns; ++i) {
      const double error = std::abs(batch.outputs()[i] - batch.targets()[i]);
      statistics.add_score(i % columns, columns, error, /*positive=*/false);
    }
  }

  double value(const Statistics& all) const override {
    double sum = 0;
    for (const Ranking& one : all.rankings()) sum += one.median;
    return sum / static_cast<double>(all.rankings().size());
  }

  std::vector<double> values_of_targets(const Statistics& all) const override {
    std::vector<double> values;
    for (const Ranking& one : all.rankings()) values.push_back(one.median);
    return values;
  }
};

bool add_mean(const char* name, const char* doc, MeanError::Measure measure) {
  return metrics().add<config::NoOptions>(
      name, doc, [measure](const config::NoOptions&) { return std::make_unique<MeanError>(measure); },
      {{"direction", "less"}, {"of", {"numbers"}}});
}

const bool mae_metric_registered = add_mean("mae", "mean absolute error", absolute_error);
const bool mse_metric_registered = add_mean("mse", "mean squared error", squared_error);
const bool mape_registered = add_mean("mape", "mean of the absolute error as a share of the target", relative_error);
const bool median_registered =
    metrics().add<config::NoOptions>("median_absolute_error", "median of the absolute errors, averaged over targets",
                                     config::made<MedianError>, {{"direction", "less"}, {"of", {"numbers"}}});
const bool rmse_metric_registered =
    metrics().add<config::NoOptions>("rmse", "root of the mean squared error of each target, averaged over targets",
                                     config::made<RootError>, {{"direction", "less"}, {"of", {"numbers"}}});

}  // namespace
}  // namespace ddp::train
