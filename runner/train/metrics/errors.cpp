#include <cmath>

#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

struct ErrorsOptions {
  void fields(config::Fields&) {}
};

double absolute_error(double error) { return std::abs(error); }
double squared_error(double error) { return error * error; }

// mean_absolute_error, mean_squared_error and root_mean_squared_error of scikit-learn, averaged over the targets of a
// row. A part: how many rows, then of each target the sum of errors.
class Errors final : public Metric {
 public:
  using Measure = double (*)(double error);
  Errors(Measure measure, bool rooted) : measure_(measure), rooted_(rooted) {}

  void add(const Scores& batch, Statistics& statistics) const override {
    const std::int64_t columns = batch.columns();
    std::vector<double> part(static_cast<std::size_t>(columns) + 1, 0.0);
    part[0] = static_cast<double>(batch.rows());
    for (std::int64_t i = 0; i < batch.rows() * columns; ++i) {
      part[1 + i % columns] += measure_(batch.outputs()[i] - batch.targets()[i]);
    }
    statistics.add_part(std::move(part));
  }

  double value(const Statistics& all) const override {
    std::vector<double> sums(all.parts().front().size(), 0.0);
    for (const auto& part : all.parts()) {
      for (std::size_t i = 0; i < part.size(); ++i) sums[i] += part[i];
    }
    double of_targets = 0;
    for (std::size_t i = 1; i < sums.size(); ++i) {
      const double mean = sums[i] / sums[0];
      of_targets += rooted_ ? std::sqrt(mean) : mean;
    }
    return of_targets / static_cast<double>(sums.size() - 1);
  }

 private:
  const Measure measure_;
  const bool rooted_;
};

bool add_errors(const char* name, const char* doc, Errors::Measure measure, bool rooted = false) {
  return metrics().add<ErrorsOptions>(
      name, doc, [measure, rooted](const ErrorsOptions&) { return std::make_unique<Errors>(measure, rooted); },
      {{"direction", "less"}, {"of", {"numbers"}}});
}

const bool mae_metric_registered = add_errors("mae", "mean absolute error", absolute_error);
const bool mse_metric_registered = add_errors("mse", "mean squared error", squared_error);
const bool rmse_metric_registered =
    add_errors("rmse", "root of the mean squared error, of each target", squared_error, true);

}  // namespace
}  // namespace ddp::train
