#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "config/option/fields.h"

namespace ddp::datasets {

// The function of a target that is scaled in its place.
enum class TargetTransform { none, log1p, log };
constexpr std::array<const char*, 3> names_of(TargetTransform) { return {"none", "log1p", "log"}; }
inline double apply(TargetTransform transform, double value) {
  return transform == TargetTransform::log1p ? std::log1p(value)
         : transform == TargetTransform::log ? std::log(value)
                                             : value;
}
inline double undo(TargetTransform transform, double value) {
  return transform == TargetTransform::log1p ? std::expm1(value)
         : transform == TargetTransform::log ? std::exp(value)
                                             : value;
}

// Scales the numbers of a column with the same bits as scikit-learn's StandardScaler or MinMaxScaler for a column of a
// C-ordered array (sklearn/preprocessing/_data.py, sklearn/utils/extmath.py), or as QuantileTransformer with
// output_distribution="normal" and subsample=None.
struct Scale {
  enum class Kind { none, standard, minmax, quantile };
  friend constexpr std::array<const char*, 4> names_of(Kind) { return {"none", "standard", "minmax", "quantile"}; }
  Kind kind = Kind::none;
  double shift = 0;
  double factor = 1;
  std::vector<double> quantiles = {};  // of the training values, at equal distances from the least to the greatest
  TargetTransform transform = TargetTransform::none;

  double apply(double value) const {
    if (transform != TargetTransform::none) value = datasets::apply(transform, value);
    if (kind == Kind::standard) return (value - shift) / factor;
    if (kind == Kind::minmax) return value * factor + shift;
    return kind == Kind::quantile ? normal_of(value) : value;
  }
  // Undoes a standard scale and the transform of a target; other scales do not change the value.
  double undo(double value) const {
    return datasets::undo(transform, kind == Kind::standard ? value * factor + shift : value);
  }
  bool changes_values() const { return kind != Kind::none || transform != TargetTransform::none; }

  void fields(config::Fields& f);

 private:
  double normal_of(double value) const;
};

// Fits the quantiles of the present numbers of so many rows, at most 1000; sorts the numbers.
Scale quantile_scale(std::vector<double>& values, std::int64_t rows);

// Sums over the training values of a column, in the order of rows; missing cells are left out.
class ColumnFit {
 public:
  // The first pass, over all values.
  void add(double value) {
    ++count_;
    sum_ += value;
    if (value < least_) least_ = value;
    if (value > most_) most_ = value;
  }
  void end_first_pass() { mean_ = count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // The second pass, over the same values; only a standard scale needs it.
  void add_deviation(double value) {
    const double deviation = value - mean_;
    deviations_ += deviation;
    squares_ += deviation * deviation;
  }

  std::int64_t count() const { return count_; }
  double mean() const { return mean_; }
  Scale scale(Scale::Kind kind) const;

 private:
  std::int64_t count_ = 0;
  double sum_ = 0;
  double mean_ = 0;
  double deviations_ = 0;
  double squares_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
};

}  // namespace ddp::datasets
