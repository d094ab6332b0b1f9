#include <cmath>

#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

// exp of the mean negative log-likelihood of the right classes, without weights or smoothing. A part: the number of
// rows and the sum of their log-likelihoods.
class Perplexity final : public Metric {
 public:
  void add(const Scores& batch, Statistics& statistics) const override {
    double sum = 0;
    for (const double one : batch.log_likelihoods()) sum += one;
    statistics.add_part({static_cast<double>(batch.rows()), sum});
  }

  double value(const Statistics& all) const override {
    double rows = 0;
    double sum = 0;
    for (const auto& part : all.parts()) {
      rows += part[0];
      sum += part[1];
    }
    return std::exp(-sum / rows);
  }
};

const bool perplexity_registered =
    metrics().add<config::NoOptions>("perplexity", "exp of the mean negative log-likelihood of the right classes",
                                     config::made<Perplexity>, {{"direction", "less"}, {"of", {"classes"}}});

}  // namespace
}  // namespace ddp::train
