#include <limits>

#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

// Keeps summary.json small enough to read.
constexpr std::int64_t kMostClasses = 1000;

// confusion_matrix of scikit-learn: counts[right class][predicted class]. A single label has the classes 0 and 1.
class Confusion final : public Metric {
 public:
  std::string refusal(const Scores& batch) const override {
    if (batch.meaning() == OutputMeaning::labels && batch.columns() > 1) return "it needs classes, or one label";
    if (batch.columns() <= kMostClasses) return "";
    return "it takes " + std::to_string(kMostClasses) + " classes at most, and the model knows " +
           std::to_string(batch.columns());
  }

  void add(const Scores& batch, Statistics& statistics) const override {
    const bool label = batch.meaning() == OutputMeaning::labels;
    const std::int64_t classes = label ? 2 : batch.columns();
    std::int64_t* const counts = statistics.counts(classes * classes);
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const std::int64_t right = label ? batch.targets()[row] > 0.5 : batch.classes()[row];
      const std::int64_t predicted = label ? batch.probabilities()[row] > 0.5 : batch.predicted()[row];
      ++counts[right * classes + predicted];
    }
  }

  double value(const Statistics&) const override { return std::numeric_limits<double>::quiet_NaN(); }
};

const bool confusion_registered = metrics().add<config::NoOptions>(
    "confusion", "confusion matrix, in summary.json: one row for each right class", config::made<Confusion>,
    {{"direction", "greater"}, {"of", {"classes", "labels"}}, {"matrix", true}});

}  // namespace
}  // namespace ddp::train
