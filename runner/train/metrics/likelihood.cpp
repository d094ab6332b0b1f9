#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

bool has_several_labels(const Scores& batch) { return batch.meaning() == OutputMeaning::labels && batch.columns() > 1; }

constexpr const char* kNeeds = "it needs classes, or one label";

// A mean over rows, or a function of it. A part: the number of rows, and the sum of their values.
class MeanOfRows final : public Metric {
 public:
  using Values = std::vector<double> (*)(const Scores&);
  using Finish = double (*)(double mean);
  MeanOfRows(Values values, Finish finish) : values_(values), finish_(finish) {}

  std::string refusal(const Scores& batch) const override { return has_several_labels(batch) ? kNeeds : ""; }

  void add(const Scores& batch, Statistics& statistics) const override {
    double sum = 0;
    for (const double one : values_(batch)) sum += one;
    statistics.add_part({static_cast<double>(batch.rows()), sum});
  }

  double value(const Statistics& all) const override {
    double rows = 0;
    double sum = 0;
    for (const auto& part : all.parts()) {
      rows += part[0];
      sum += part[1];
    }
    return finish_(sum / rows);
  }

 private:
  const Values values_;
  const Finish finish_;
};

double as_it_is(double mean) { return mean; }
double exp_of(double mean) { return std::exp(mean); }

// Negative log-likelihoods of the targets, without weights or smoothing.
std::vector<double> surprises(const Scores& batch) {
  std::vector<double> values = batch.log_likelihoods();
  for (double& one : values) one = -one;
  return values;
}

// log_loss of scikit-learn takes no probability below the precision of its numbers.
std::vector<double> bounded_surprises(const Scores& batch) {
  static const double kMost = -std::log(std::numeric_limits<double>::epsilon());
  std::vector<double> values = surprises(batch);
  for (double& one : values) one = std::min(one, kMost);
  return values;
}

// brier_score_loss of scikit-learn: the squared distance of the probabilities and the target; of two classes half of
// it.
std::vector<double> squared_distances(const Scores& batch) {
  std::vector<double> values;
  const double* p = batch.probabilities();
  for (std::int64_t row = 0; row < batch.rows(); ++row, p += batch.columns()) {
    double sum = 0;
    if (batch.is_binary()) {
      const double apart = p[batch.positive()] - (batch.is_positive(row) ? 1 : 0);
      sum = apart * apart;
    } else {
      for (std::int64_t c = 0; c < batch.columns(); ++c) {
        const double apart = p[c] - (c == batch.classes()[row] ? 1 : 0);
        sum += apart * apart;
      }
    }
    values.push_back(sum);
  }
  return values;
}

// Guo et al. 2017: the distance of confidence and accuracy in 15 equal bins (low, high] of the most probable class's
// probability, weighted by their rows. A part: rows, right ones and the sum of confidences of each bin.
class CalibrationError final : public Metric {
 public:
  std::string refusal(const Scores& batch) const override { return has_several_labels(batch) ? kNeeds : ""; }

  void add(const Scores& batch, Statistics& statistics) const override {
    auto& part = statistics.part_of_batch(kCalibrationBins * kNumbers);
    const bool of_classes = batch.meaning() == OutputMeaning::classes;
    const double* p = batch.probabilities();
    for (std::int64_t row = 0; row < batch.rows(); ++row, p += batch.columns()) {
      const bool is_set = !of_classes && *p > 0.5;
      const double confidence = of_classes ? p[batch.predicted()[row]] : is_set ? *p : 1 - *p;
      const bool right = of_classes ? batch.predicted()[row] == batch.classes()[row] : is_set == batch.is_positive(row);
      double* const bin = part.data() + kNumbers * calibration_bin(confidence);
      bin[0] += 1;
      bin[1] += right ? 1 : 0;
      bin[2] += confidence;
    }
  }

  bool join(std::vector<double>& sum, const std::vector<double>& next) const override {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += next[i];
    return true;
  }

  double value(const Statistics& all) const override {
    const auto& bins = all.parts().front();
    double rows = 0, apart = 0;
    for (std::size_t at = 0; at < bins.size(); at += kNumbers) {
      rows += bins[at];
      apart += std::abs(bins[at + 1] - bins[at + 2]);
    }
    return apart / rows;
  }

 private:
  static constexpr std::size_t kNumbers = 3;
};

bool add_mean(const char* name, const char* doc, MeanOfRows::Values values, MeanOfRows::Finish finish = as_it_is,
              std::vector<const char*> of = {"classes", "labels"}) {
  return metrics().add<config::NoOptions>(
      name, doc, [values, finish](const config::NoOptions&) { return std::make_unique<MeanOfRows>(values, finish); },
      {{"direction", "less"}, {"of", of}});
}

const bool perplexity_registered = add_mean(
    "perplexity", "exp of the mean negative log-likelihood of the right classes", surprises, exp_of, {"classes"});
const bool log_loss_registered =
    add_mean("log_loss", "mean negative log-likelihood of the right classes", bounded_surprises);
const bool brier_registered =
    add_mean("brier", "mean squared distance of probabilities and targets", squared_distances);
const bool ece_registered = metrics().add<config::NoOptions>(
    "ece", "expected calibration error: confidence less accuracy in 15 equal bins", config::made<CalibrationError>,
    {{"direction", "less"}, {"of", {"classes", "labels"}}});

}  // namespace
}  // namespace ddp::train
