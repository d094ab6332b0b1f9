#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "datasets/table/scaler.h"

namespace ddp::train {

// Two outputs closer than this may have equal probabilities.
constexpr double kClose = 1e-12;

// Bins of calibration: equal parts (low, high] of a probability.
constexpr std::size_t kCalibrationBins = 15;
std::size_t calibration_bin(double probability);

// The order of the classes of each row of float64 [rows, columns], computed on the rows' device.
struct RowOrder {
  at::Tensor value;   // int64 [rows]
  at::Tensor unsure;  // bool [rows]: the order needs the probabilities, because outputs are close, far apart, or NaN
};
// Finds the most probable class; among equals, the lowest.
RowOrder most_probable(const at::Tensor& rows);
// Counts the classes before the target: more probable, or equally probable with a lower index. `targets`: int64 [rows].
RowOrder classes_before(const at::Tensor& rows, const at::Tensor& targets);

// The meaning of outputs and targets. The loss determines it.
enum class OutputMeaning {
  classes,  // one score for each class; the target is the index of the right class
  labels,   // one score for each label; the target tells which labels are set
  numbers,  // one number for each target
  other     // none of these, such as class probabilities as targets
};
// "classes", "labels", "numbers", "other".
const char* to_string(OutputMeaning meaning);

// How a loss interprets outputs, from its trait "outputs". For a loss without the trait, integer targets are classes
// with logits; other targets are numbers.
enum class OutputKind { unknown, logits, log_probabilities, label_logits, numbers };
// Reads "logits", "log_probabilities", "label_logits" or "numbers"; an empty text is unknown. Throws
// std::runtime_error.
OutputKind read_output_kind(const std::string& text);

// Takes targets that are numbers, and their predictions, back to their own units: value * factor + shift for each
// target, float64 [columns], then the inverse of the transform. Undefined: they have them.
struct TargetUnits {
  at::Tensor factor, shift;
  datasets::TargetTransform transform = datasets::TargetTransform::none;
};

// How outputs and targets are read.
struct Reading {
  OutputKind kind = OutputKind::unknown;
  std::int64_t ignored = -100;  // targets of this class do not count
  TargetUnits units = {};
  std::int64_t positive = -1;  // of two classes the one that is looked for; -1: the last
};

// The outputs and targets of a batch or of a part of one, on the CPU. Values that several metrics need are computed
// once, at their first use. A row is a sample, or a position in one (a token of a text, a pixel of an image). For
// outputs on a GPU, the order of classes is computed there, and the outputs are copied to the CPU only if a metric
// needs them.
class Scores {
 public:
  // Takes outputs and targets in the form for a loss, each on any device. For classes, rows whose target is `ignored`
  // are left out. If any target is not a class of the model, the meaning is OutputMeaning::other, because the loss may
  // use such targets in its own way.
  Scores(const at::Tensor& output, const at::Tensor& target, const Reading& reading);

  OutputMeaning meaning() const { return meaning_; }
  // The reason for OutputMeaning::other, as a clause.
  const std::string& why_other() const { return why_other_; }
  std::int64_t rows() const { return rows_; }
  // The number of classes, labels or numbers in a row.
  std::int64_t columns() const { return columns_; }
  // Tells whether targets are two classes, or one label. The column of probabilities() of the one that is looked for.
  bool is_binary() const;
  std::int64_t positive() const { return positive_ < 0 ? columns_ - 1 : positive_; }
  // Of a binary target: tells whether the row has it.
  bool is_positive(std::int64_t row) const;

  // float64 [rows, columns]: the outputs of the model; numbers in the units of the targets.
  const double* outputs() const;
  // For classes and labels, float64 [rows, columns]: softmax, exp (of log-probabilities) or sigmoid of the outputs.
  const double* probabilities() const;
  // For classes [rows]: the most probable one; among equals, the lowest.
  const std::vector<std::int64_t>& predicted() const;
  // For classes [rows]: the number of classes before the right one: more probable, or equally probable with a lower
  // index.
  std::vector<std::int64_t> before_right() const;
  // For classes and one label [rows]: the log-probability of the target.
  std::vector<double> log_likelihoods() const;

  // For classes [rows]: the right class.
  const std::int64_t* classes() const { return classes_; }
  // For labels and numbers, float64 [rows, columns]. A label is set if it is above 0.5.
  const double* targets() const { return target_numbers_; }

 private:
  void take_classes(const at::Tensor& output, const at::Tensor& target, std::int64_t ignored);
  void take_columns(const at::Tensor& output, const at::Tensor& target, const TargetUnits& units);

  OutputMeaning meaning_ = OutputMeaning::other;
  std::string why_other_ = "the targets are neither classes nor labels nor numbers";
  const OutputKind kind_;
  const std::int64_t positive_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  const at::Tensor& on_cpu() const;
  at::Tensor probabilities_of(const at::Tensor& outputs) const;
  std::vector<std::int64_t> predicted_of(const at::Tensor& outputs) const;
  std::vector<std::int64_t> before_right_of(const at::Tensor& probabilities, const std::int64_t* right) const;

  at::Tensor rows_of_outputs_;  // as the model returned them, on their device
  mutable at::Tensor outputs_;  // on the CPU, from the first use
  at::Tensor targets_;
  // The data of targets_: metrics read them row by row, and ATen checks each access.
  const std::int64_t* classes_ = nullptr;
  const double* target_numbers_ = nullptr;
  mutable at::Tensor probabilities_;
  mutable std::vector<std::int64_t> predicted_;
};

// Passes a batch to `take` in parts of about 2^20 outputs, to limit memory. The parts depend only on the shapes.
void for_each_part(const at::Tensor& output, const at::Tensor& target, const Reading& reading,
                   const std::function<void(const Scores&)>& take);

}  // namespace ddp::train
