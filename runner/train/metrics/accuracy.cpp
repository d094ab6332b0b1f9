#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

// For classes sklearn.metrics.accuracy_score; for labels the share of right labels. Counts: right ones, all.
class Accuracy final : public Metric {
 public:
  void add(const Scores& batch, Statistics& statistics) const override {
    std::int64_t* const counts = statistics.counts(2);
    counts[0] += batch.meaning() == OutputMeaning::classes ? right_classes(batch) : right_labels(batch);
    counts[1] += batch.meaning() == OutputMeaning::classes ? batch.rows() : batch.rows() * batch.columns();
  }

  double value(const Statistics& all) const override {
    return static_cast<double>(all.counts()[0]) / static_cast<double>(all.counts()[1]);
  }

 private:
  static std::int64_t right_classes(const Scores& batch) {
    const std::int64_t* const classes = batch.classes();
    const auto& predicted = batch.predicted();
    std::int64_t right = 0;
    for (std::int64_t row = 0; row < batch.rows(); ++row) right += predicted[row] == classes[row];
    return right;
  }

  static std::int64_t right_labels(const Scores& batch) {
    const double* const probabilities = batch.probabilities();
    const double* const targets = batch.targets();
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < batch.rows() * batch.columns(); ++i) {
      right += (probabilities[i] > 0.5) == (targets[i] > 0.5);
    }
    return right;
  }
};

const bool accuracy_registered =
    metrics().add<config::NoOptions>("accuracy", "share of right classes or labels", config::made<Accuracy>,
                                     {{"direction", "greater"}, {"of", {"classes", "labels"}}});

}  // namespace
}  // namespace ddp::train
