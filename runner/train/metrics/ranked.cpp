#include <cmath>
#include <limits>

#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// The share of pairs of a positive and a negative sample in which the positive one has the higher probability; a tie
// counts half. No value if no sample is positive, or all are.
double area(const Ranking& one) {
  const double pairs = static_cast<double>(one.positives) * static_cast<double>(one.negatives);
  return pairs == 0 ? kNoValue : static_cast<double>(one.wins) / (2 * pairs);
}

double average_precision(const Ranking& one) { return one.average_precision; }

// roc_auc_score and average_precision_score of scikit-learn. For two classes by the probability of the positive one;
// for more classes the mean over classes, each against the others; for labels the mean over labels. Counts:
// probabilities that are NaN.
class Ranked final : public Metric {
 public:
  using Measure = double (*)(const Ranking&);
  explicit Ranked(Measure measure) : measure_(measure) {}

  std::string refusal(const Scores& batch) const override {
    return batch.meaning() == OutputMeaning::classes && batch.columns() < 2 ? "it needs two classes or more" : "";
  }

  void add(const Scores& batch, Statistics& statistics) const override {
    std::int64_t& nans = *statistics.counts(1);
    const bool of_classes = batch.meaning() == OutputMeaning::classes;
    const std::int64_t scores = batch.is_binary() ? 1 : batch.columns();
    const double* const probabilities = batch.probabilities();
    for (std::int64_t at = 0; at < scores; ++at) {
      const std::int64_t column = batch.is_binary() ? batch.positive() : at;
      for (std::int64_t row = 0; row < batch.rows(); ++row) {
        const std::int64_t i = row * batch.columns() + column;
        const bool positive = of_classes ? batch.classes()[row] == column : batch.targets()[i] > 0.5;
        nans += std::isnan(probabilities[i]);
        statistics.add_score(at, scores, probabilities[i], positive);
      }
    }
  }

  double value(const Statistics& all) const override {
    if (all.counts()[0] > 0) return kNoValue;
    double sum = 0;
    for (const Ranking& one : all.rankings()) sum += measure_(one);
    return sum / static_cast<double>(all.rankings().size());
  }

 private:
  const Measure measure_;
};

bool add_ranked(const char* name, const char* doc, Ranked::Measure measure) {
  return metrics().add<config::NoOptions>(
      name, doc, [measure](const config::NoOptions&) { return std::make_unique<Ranked>(measure); },
      {{"direction", "greater"}, {"of", {"classes", "labels"}}});
}

const bool auroc_registered = add_ranked(
    "auroc", "area under the ROC curve; for more than two classes the mean of each against the others", area);
const bool average_precision_registered = add_ranked(
    "average_precision", "area under the curve of precision and recall, as steps; for more than two classes the mean",
    average_precision);

}  // namespace
}  // namespace ddp::train
