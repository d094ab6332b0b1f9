#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/batches.h"
#include "train/metrics/measures.h"

namespace ddp::train {

// Probabilities and outcomes in equal bins (low, high] of the probability, as calibration_curve of scikit-learn has
// them:
// {"mean_predicted", "fraction", "count"}; an empty bin has null.
config::Value calibration_curve(const std::vector<std::pair<double, bool>>& scored);

// The curves and errors of one set of samples, for evaluation.json: the confusion matrix; for two classes the ROC,
// precision-recall and calibration curves; for numbers the residuals; the samples with the largest errors. They are for
// answers of one class, or of few numbers, for each sample: not for the tokens of a text or the pixels of an image.
// Their size is bounded: a curve has at most 512 points, and of more than 2^22 samples every n-th is taken.
class EvaluationCurves {
 public:
  // Both outlive it.
  EvaluationCurves(const data::EvaluationSet& set, const Measures& measures);

  // Do the targets of the set allow any of them? Reads one sample.
  bool any() const;
  // Returns the records of a batch, for take(). `begin`: the place of its first sample in the set. Empty: the batch has
  // none.
  std::vector<double> of_batch(const at::Tensor& output, const at::Tensor& target, std::int64_t begin);
  // Takes the records of all ranks' batches, in any order.
  void take(const std::vector<std::vector<double>>& batches);

  // Returns the set's part of evaluation.json. `confusion`: the matrix of the metric, if it was measured.
  config::Value result(const config::Value& confusion) const;

 private:
  // One sample: numbers[0] is its place in the set. Of classes and labels follow the target, the predicted class, the
  // probability of the target, and that of the positive class of two; of numbers the targets, then the outputs.
  using Record = const double*;

  void add_classes(config::Value& to) const;
  void add_numbers(config::Value& to) const;
  // Columns of these samples: row, file (of an image), id (if the data have one), target, prediction; with_error: also
  // the error of a number, or the probability of the right class.
  config::Value rows_of(const std::vector<Record>& records, bool with_error) const;

  const data::EvaluationSet& set_;
  const Measures& measures_;
  const std::int64_t every_;   // of so many samples, one is taken
  std::int64_t columns_ = 0;   // classes or numbers of a sample
  std::int64_t positive_ = 1;  // of two classes the one that the curves are about
  std::size_t width_ = 0;      // numbers of a record
  OutputMeaning meaning_ = OutputMeaning::other;
  std::vector<double> records_;
};

}  // namespace ddp::train
