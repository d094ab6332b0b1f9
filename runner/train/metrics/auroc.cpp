#include <cmath>
#include <limits>

#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

// roc_auc_score of scikit-learn. For two classes it uses the probability of the second one; for more classes it is the
// mean over classes, each against the others; for labels it is the mean over labels. It has no value if a class has no
// sample or all samples. The area is the share of pairs of a positive and a negative sample in which the positive one
// has the higher probability; a tie counts half. Counts: probabilities that are NaN.
class Auroc final : public Metric {
 public:
  std::string refusal(const Scores& batch) const override {
    return batch.meaning() == OutputMeaning::classes && batch.columns() < 2 ? "it needs two classes or more" : "";
  }

  void add(const Scores& batch, Statistics& statistics) const override {
    std::int64_t& nans = *statistics.counts(1);
    const bool of_classes = batch.meaning() == OutputMeaning::classes;
    const bool binary = of_classes && batch.columns() == 2;
    const std::int64_t scores = binary ? 1 : batch.columns();
    const double* const probabilities = batch.probabilities();
    for (std::int64_t at = 0; at < scores; ++at) {
      const std::int64_t column = binary ? 1 : at;
      for (std::int64_t row = 0; row < batch.rows(); ++row) {
        const std::int64_t i = row * batch.columns() + column;
        const bool positive = of_classes ? batch.classes()[row] == column : batch.targets()[i] > 0.5;
        nans += std::isnan(probabilities[i]);
        statistics.add_score(at, scores, probabilities[i], positive);
      }
    }
  }

  double value(const Statistics& all) const override {
    double sum = 0;
    for (const RankedPairs& one : all.pairs()) {
      const double pairs = static_cast<double>(one.positives) * static_cast<double>(one.negatives);
      if (pairs == 0) return std::numeric_limits<double>::quiet_NaN();
      sum += static_cast<double>(one.wins) / (2 * pairs);
    }
    const bool measured = all.counts()[0] == 0;
    return measured ? sum / static_cast<double>(all.pairs().size()) : std::numeric_limits<double>::quiet_NaN();
  }
};

const bool auroc_registered = metrics().add<config::NoOptions>(
    "auroc", "area under the ROC curve; for more than two classes the mean of each against the others",
    config::made<Auroc>, {{"direction", "greater"}, {"of", {"classes", "labels"}}});

}  // namespace
}  // namespace ddp::train
