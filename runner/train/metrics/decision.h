#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/experiment.h"
#include "train/metrics/metric.h"

namespace ddp::train {

// How probabilities become answers: what [decide] fitted to the outputs of a validation. A checkpoint keeps it as
// "decide" in preprocessing.json.
struct Decision {
  // A function of a probability: linear between the points, constant outside them.
  struct Curve {
    std::vector<double> x, y;

    double at(double value) const;
    bool operator==(const Curve&) const = default;
    void fields(config::Fields& f);
  };

  std::optional<double> temperature;  // divides the logits
  std::vector<Curve> isotonic;        // of each class; only of the positive one if targets are binary
  std::optional<double> threshold;    // a row with at least this probability of the positive class has it
  std::int64_t positive = 0;          // the column of this class

  // Returns the calibrated probabilities, float64, of probabilities [rows, classes or labels, …].
  at::Tensor calibrated(const at::Tensor& probabilities) const;
  // The same for a row.
  void calibrate(double* row, std::int64_t columns) const;
  bool calibrates() const { return temperature || !isotonic.empty(); }
  void fields(config::Fields& f);
};

// Fits the decision to a validation. It collects probabilities and targets as a metric does, and has no value. Of many
// classes every n-th row of a batch is taken, so that a row costs at most about 64 numbers.
class Decider final : public Metric {
 public:
  using Parts = std::vector<std::vector<double>>;

  explicit Decider(config::Decide decide) : decide_(std::move(decide)) {}

  std::string refusal(const Scores& batch) const override;
  void add(const Scores& batch, Statistics& statistics) const override;
  double value(const Statistics& all) const override;

  // `parts`: of all batches, as add() made them. The temperature minimises the mean negative log-likelihood (Guo et al.
  // 2017); isotonic curves are scikit-learn's IsotonicRegression(out_of_bounds="clip"), one class against the others;
  // a threshold is halfway between two neighbouring probabilities, the greatest one with the best f1 or balanced
  // accuracy.
  Decision fit(const Parts& parts) const;
  struct Calibration {
    std::vector<std::pair<double, bool>> scored;  // the rows' probability of a class, and whether they have it
    double log_loss = 0;                          // mean over the rows
  };
  // Measures the probabilities after the decision: those of the positive class, or of the most probable one.
  static Calibration calibration(const Parts& parts, const Decision& decision);

 private:
  const config::Decide decide_;
};

}  // namespace ddp::train
