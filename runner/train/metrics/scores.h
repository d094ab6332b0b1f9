#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddp::train {

// What outputs and targets are, which the loss decides.
enum class Meaning {
  classes,  // a score a class, and the index of the right one
  labels,   // a score a label, and whether it is there: several may be
  numbers,  // a number for each target
  other     // none of these: class probabilities as targets, for example
};
// "classes", "labels", "numbers", "other".
const char* to_string(Meaning meaning);

// How a loss takes outputs; its trait "outputs" says it. Of a loss without the trait, integers as targets are classes
// with logits, others are numbers.
enum class OutputKind { unknown, logits, log_probabilities, label_logits, numbers };
// Reads "logits", "log_probabilities", "label_logits", "numbers"; unknown for an empty text. Throws std::runtime_error.
OutputKind read_output_kind(const std::string& text);

// The outputs of a batch, or of a part of one, beside its targets, on the CPU. What several metrics need is computed
// once, when it is asked for first. A row is a sample, or a position of one (a token of a text, a pixel of an image).
// Of outputs on a GPU the order of classes is found there, and the outputs come here only where a metric asks for them.
class Scores {
 public:
  // Outputs and targets as a loss takes them, each on any device. Rows whose target is `ignored` are left out, of
  // classes. Where a target is no class of the model, all are Meaning::other: a loss may have its own use of such ones.
  Scores(const at::Tensor& output, const at::Tensor& target, OutputKind kind, std::int64_t ignored);

  Meaning meaning() const { return meaning_; }
  // Why they are Meaning::other, as a clause.
  const std::string& why_other() const { return why_other_; }
  std::int64_t rows() const { return rows_; }
  // Classes, labels, or numbers of a row.
  std::int64_t columns() const { return columns_; }

  // float64 [rows, columns]: the outputs as the model gives them.
  const double* outputs() const;
  // Of classes and labels, float64 [rows, columns]: softmax, exp (of log-probabilities) or sigmoid of the outputs.
  const double* probabilities() const;
  // Of classes [rows]: the most probable one; of equals, the lowest.
  const std::vector<std::int64_t>& predicted() const;
  // Of classes [rows]: how many come before the right one, which are more probable, or as probable and lower.
  std::vector<std::int64_t> before_right() const;
  // Of classes [rows]: the log-probability of the target.
  std::vector<double> log_likelihoods() const;

  // Of classes [rows]: the right class.
  const std::int64_t* classes() const { return targets_.const_data_ptr<std::int64_t>(); }
  // Of labels and numbers, float64 [rows, columns]. A label is there where it is above 0.5.
  const double* targets() const { return targets_.const_data_ptr<double>(); }

 private:
  void take_classes(const at::Tensor& output, const at::Tensor& target, std::int64_t ignored);
  void take_columns(const at::Tensor& output, const at::Tensor& target);

  Meaning meaning_ = Meaning::other;
  std::string why_other_ = "the targets are neither classes nor labels nor numbers";
  OutputKind kind_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  const at::Tensor& on_cpu() const;
  at::Tensor probabilities_of(const at::Tensor& outputs) const;
  std::vector<std::int64_t> predicted_of(const at::Tensor& outputs) const;
  std::vector<std::int64_t> before_right_of(const at::Tensor& probabilities, const std::int64_t* right) const;

  at::Tensor rows_of_outputs_;  // as the model gives them, where they are
  mutable at::Tensor outputs_;  // on the CPU, once they are asked for
  at::Tensor targets_;
  mutable at::Tensor probabilities_;
  mutable std::vector<std::int64_t> predicted_;
};

// Cuts a batch into parts of samples with at most some million outputs each, so that what is computed of them needs
// little memory, and gives them one after the other. The parts depend on the shapes alone.
void for_each_part(const at::Tensor& output, const at::Tensor& target, OutputKind kind, std::int64_t ignored,
                   const std::function<void(const Scores&)>& take);

}  // namespace ddp::train
