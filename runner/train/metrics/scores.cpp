#include "train/metrics/scores.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>

#include "train/loss/classes.h"

#pragma GCC push_options
#pragma GCC optimize("O3")

namespace ddp::train {
namespace {

// For values beyond this, exp of a float64 is close to subnormal numbers, 0 or infinity.
constexpr double kFar = 600;

// Returns the first true column of each row; each row has one.
at::Tensor first_in(const at::Tensor& rows) { return rows.to(at::kByte).argmax(1); }

// Outputs of a part: 8 MiB as float64.
constexpr std::int64_t kPart = std::int64_t{1} << 20;

OutputMeaning meaning_of(const at::Tensor& output, const at::Tensor& target, OutputKind kind) {
  const bool integers = !target.is_floating_point();
  const bool index = integers && output.dim() >= 2 && target.dim() == output.dim() - 1 &&
                     output.size(0) == target.size(0) && output.sizes().slice(2) == target.sizes().slice(1);
  const bool alike = output.sizes() == target.sizes() && output.dim() >= 1;
  switch (kind) {
    case OutputKind::logits:
    case OutputKind::log_probabilities:
      return index ? OutputMeaning::classes : OutputMeaning::other;
    case OutputKind::label_logits:
      return alike ? OutputMeaning::labels : OutputMeaning::other;
    case OutputKind::numbers:
      return alike ? OutputMeaning::numbers : OutputMeaning::other;
    case OutputKind::unknown:
      break;
  }
  return index ? OutputMeaning::classes : !integers && alike ? OutputMeaning::numbers : OutputMeaning::other;
}

// Reshapes [n, columns, …] to [rows, columns] with one row for each position, and [n] to [n, 1].
at::Tensor by_rows(const at::Tensor& tensor) {
  if (tensor.dim() == 1) return tensor.unsqueeze(1);
  return tensor.dim() == 2 ? tensor : tensor.movedim(1, -1).flatten(0, -2);
}

at::Tensor doubles(const at::Tensor& tensor) { return tensor.to(at::kCPU).to(at::kDouble).contiguous(); }

std::vector<std::int64_t> integers_in(const at::Tensor& tensor) {
  const at::Tensor here = tensor.to(at::kCPU).contiguous();
  const auto* const begin = here.const_data_ptr<std::int64_t>();
  return {begin, begin + here.numel()};
}

// Writes the values at the indices `rows`, int64 [n].
void put_in(std::vector<std::int64_t>& all, const at::Tensor& rows, const std::vector<std::int64_t>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) all[rows.const_data_ptr<std::int64_t>()[i]] = values[i];
}

}  // namespace

std::size_t calibration_bin(double probability) {
  constexpr double kBins = kCalibrationBins;
  return static_cast<std::size_t>(std::clamp(std::ceil(probability * kBins) - 1, 0.0, kBins - 1));
}

RowOrder most_probable(const at::Tensor& rows) {
  const at::Tensor greatest = rows.amax(1, /*keepdim=*/true);
  const at::Tensor equal = rows == greatest;
  const at::Tensor first = first_in(equal);
  const at::Tensor close = equal.logical_or(greatest - rows < kClose);
  return {.value = first, .unsure = (first_in(close) != first).logical_or(at::isnan(rows).any(1))};
}

RowOrder classes_before(const at::Tensor& rows, const at::Tensor& targets) {
  const at::Tensor column = targets.unsqueeze(1);
  const at::Tensor of_target = rows.gather(1, column);
  const at::Tensor apart = rows - of_target;
  const at::Tensor lower = at::arange(rows.size(1), targets.options()) < column;
  const at::Tensor equal = apart == 0;
  const at::Tensor before = (apart > 0).logical_or(equal.logical_and(lower));
  const at::Tensor close = equal.logical_not().logical_and(apart.abs() < kClose).logical_or(at::isnan(apart)).any(1);
  const at::Tensor lowest = rows.amax(1) - kFar;
  const at::Tensor reached = of_target.squeeze(1);
  const at::Tensor far = (reached < lowest).logical_or(reached.abs() > kFar);
  return {.value = before.sum(1), .unsure = close.logical_or(far)};
}

const char* to_string(OutputMeaning meaning) {
  static constexpr const char* kNames[] = {"classes", "labels", "numbers", "other"};
  return kNames[static_cast<std::size_t>(meaning)];
}

OutputKind read_output_kind(const std::string& text) {
  if (text.empty()) return OutputKind::unknown;
  if (text == "logits") return OutputKind::logits;
  if (text == "log_probabilities") return OutputKind::log_probabilities;
  if (text == "label_logits") return OutputKind::label_logits;
  if (text == "numbers") return OutputKind::numbers;
  throw std::runtime_error("a loss's trait \"outputs\" is logits, log_probabilities, label_logits or numbers");
}

Scores::Scores(const at::Tensor& output, const at::Tensor& target, const Reading& reading)
    : kind_(reading.kind), positive_(reading.positive) {
  const auto [by_classes, class_targets] = by_class(output, target);
  meaning_ = meaning_of(by_classes, class_targets, kind_);
  if (meaning_ == OutputMeaning::classes) {
    take_classes(by_classes, class_targets, reading.ignored);
  } else if (meaning_ != OutputMeaning::other) {
    take_columns(output, target, reading.units);
  }
}

bool Scores::is_binary() const {
  return meaning_ == OutputMeaning::classes ? columns_ == 2 : meaning_ == OutputMeaning::labels && columns_ == 1;
}

bool Scores::is_positive(std::int64_t row) const {
  return meaning_ == OutputMeaning::classes ? classes_[row] == positive() : target_numbers_[row] > 0.5;
}

void Scores::take_classes(const at::Tensor& output, const at::Tensor& target, std::int64_t ignored) {
  at::Tensor rows = by_rows(output);
  targets_ = target.to(at::kCPU).to(at::kLong).flatten().contiguous();
  const std::int64_t* const begin = targets_.const_data_ptr<std::int64_t>();
  // A loss with its own targets to ignore marks them with a negative class, too.
  const auto is_ignored = [ignored](std::int64_t c) { return c == ignored || c < 0; };
  if (std::any_of(begin, begin + targets_.numel(), is_ignored)) {
    const at::Tensor kept = targets_.ne(ignored).logical_and(targets_.ge(0)).nonzero().flatten();
    rows = rows.index_select(0, kept.to(rows.device()));
    targets_ = targets_.index_select(0, kept);
  }
  classes_ = targets_.const_data_ptr<std::int64_t>();
  rows_of_outputs_ = rows;
  rows_ = rows.size(0);
  columns_ = rows.size(1);
  const std::int64_t* const first = classes();
  const auto outside = [this](std::int64_t c) { return c < 0 || c >= columns_; };
  const auto wrong = std::find_if(first, first + rows_, outside);
  if (wrong == first + rows_) return;
  why_other_ = "a target is class " + std::to_string(*wrong) + ", and the model knows " + std::to_string(columns_) +
               (columns_ == 1 ? " class" : " classes");
  meaning_ = OutputMeaning::other;
  rows_ = columns_ = 0;
}

// For labels, a column is a label and a row is a position. For numbers, a row has all numbers of a sample.
void Scores::take_columns(const at::Tensor& output, const at::Tensor& target, const TargetUnits& units) {
  const auto arranged = [&](const at::Tensor& tensor) {
    const bool many = meaning_ == OutputMeaning::numbers && tensor.dim() > 2;
    const at::Tensor values = doubles(many ? tensor.flatten(1) : by_rows(tensor));
    const bool scaled = units.factor.defined() && meaning_ == OutputMeaning::numbers;
    if (!scaled) return values;
    at::Tensor own = values.mul(units.factor).add_(units.shift);
    double* const numbers = own.mutable_data_ptr<double>();
    for (std::int64_t i = 0; units.transform != datasets::TargetTransform::none && i < own.numel(); ++i) {
      numbers[i] = datasets::undo(units.transform, numbers[i]);
    }
    return own;
  };
  rows_of_outputs_ = arranged(output);
  targets_ = arranged(target);
  target_numbers_ = targets_.const_data_ptr<double>();
  rows_ = targets_.size(0);
  columns_ = targets_.size(1);
}

const at::Tensor& Scores::on_cpu() const {
  if (!outputs_.defined()) outputs_ = doubles(rows_of_outputs_);
  return outputs_;
}

const double* Scores::outputs() const { return on_cpu().const_data_ptr<double>(); }

at::Tensor Scores::probabilities_of(const at::Tensor& outputs) const {
  if (meaning_ == OutputMeaning::labels) return at::sigmoid(outputs);
  return kind_ == OutputKind::log_probabilities ? at::exp(outputs) : at::softmax(outputs, 1);
}

const double* Scores::probabilities() const {
  if (!probabilities_.defined()) probabilities_ = probabilities_of(on_cpu());
  return probabilities_.const_data_ptr<double>();
}

// The greatest output has the greatest probability. If an earlier output is so close that the two probabilities may be
// equal, the probabilities decide.
std::vector<std::int64_t> Scores::predicted_of(const at::Tensor& outputs) const {
  const std::int64_t rows = outputs.size(0);
  const double* const data = outputs.const_data_ptr<double>();
  std::vector<std::int64_t> predicted;
  predicted.reserve(static_cast<std::size_t>(rows));
  at::Tensor probabilities;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* values = data + row * columns_;
    const double* greatest = std::max_element(values, values + columns_);
    const auto close = [&](double value) { return *greatest - value < kClose; };
    if (std::find_if(values, greatest, close) != greatest) {
      if (!probabilities.defined()) probabilities = probabilities_of(outputs);
      values = probabilities.const_data_ptr<double>() + row * columns_;
      greatest = std::max_element(values, values + columns_);
    }
    predicted.push_back(greatest - values);
  }
  return predicted;
}

const std::vector<std::int64_t>& Scores::predicted() const {
  if (!predicted_.empty()) return predicted_;
  if (rows_of_outputs_.is_cpu()) return predicted_ = predicted_of(on_cpu());
  const RowOrder order = most_probable(rows_of_outputs_.to(at::kDouble));
  predicted_ = integers_in(order.value);
  const at::Tensor unsure = order.unsure.nonzero().flatten();
  put_in(predicted_, unsure.to(at::kCPU).contiguous(), predicted_of(doubles(rows_of_outputs_.index_select(0, unsure))));
  return predicted_;
}

std::vector<std::int64_t> Scores::before_right_of(const at::Tensor& probabilities, const std::int64_t* right) const {
  std::vector<std::int64_t> before;
  const double* p = probabilities.const_data_ptr<double>();
  for (std::int64_t row = 0; row < probabilities.size(0); ++row, p += columns_) {
    const double of_right = p[right[row]];
    std::int64_t greater = 0;
    for (std::int64_t c = 0; c < right[row]; ++c) greater += p[c] >= of_right;
    for (std::int64_t c = right[row] + 1; c < columns_; ++c) greater += p[c] > of_right;
    before.push_back(greater);
  }
  return before;
}

std::vector<std::int64_t> Scores::before_right() const {
  if (rows_of_outputs_.is_cpu()) {
    probabilities();
    return before_right_of(probabilities_, classes());
  }
  const RowOrder order = classes_before(rows_of_outputs_.to(at::kDouble), targets_.to(rows_of_outputs_.device()));
  std::vector<std::int64_t> before = integers_in(order.value);
  const at::Tensor unsure = order.unsure.nonzero().flatten();
  const at::Tensor places = unsure.to(at::kCPU).contiguous();
  const at::Tensor right = targets_.index_select(0, places);
  const at::Tensor outputs = doubles(rows_of_outputs_.index_select(0, unsure));
  put_in(before, places, before_right_of(probabilities_of(outputs), right.const_data_ptr<std::int64_t>()));
  return before;
}

std::vector<double> Scores::log_likelihoods() const {
  std::vector<double> of_rows;
  if (meaning_ == OutputMeaning::labels) {
    for (std::int64_t row = 0; row < rows_; ++row) {
      const double wrong = is_positive(row) ? -outputs()[row] : outputs()[row];
      of_rows.push_back(-(std::max(wrong, 0.0) + std::log1p(std::exp(-std::abs(wrong)))));
    }
    return of_rows;
  }
  const at::Tensor logs = kind_ == OutputKind::log_probabilities ? on_cpu() : at::log_softmax(on_cpu(), 1);
  const double* const values = logs.const_data_ptr<double>();
  for (std::int64_t row = 0; row < rows_; ++row) of_rows.push_back(values[row * columns_ + classes()[row]]);
  return of_rows;
}

void for_each_part(const at::Tensor& output, const at::Tensor& target, const Reading& reading,
                   const std::function<void(const Scores&)>& take) {
  const auto [outputs, targets] = by_class(output, target);
  const std::int64_t rows = outputs.dim() > 0 ? outputs.size(0) : 0;
  if (rows == 0 || targets.dim() == 0 || targets.size(0) != rows) return take(Scores(output, target, reading));
  const std::int64_t length = std::max<std::int64_t>(1, kPart / std::max<std::int64_t>(1, outputs.numel() / rows));
  for (std::int64_t begin = 0; begin < rows; begin += length) {
    const std::int64_t end = std::min(begin + length, rows);
    take(Scores(outputs.slice(0, begin, end), targets.slice(0, begin, end), reading));
  }
}

}  // namespace ddp::train

#pragma GCC pop_options
