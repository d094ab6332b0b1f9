#include "datasets/histogram.h"

#include <algorithm>
#include <cmath>

namespace ddp::datasets {

void Histogram::widen(double number) {
  if (!std::isfinite(number)) return;
  least_ = std::min(least_, number);
  greatest_ = std::max(greatest_, number);
}

void Histogram::add(double number) {
  if (!std::isfinite(number)) {
    ++not_finite_;
    return;
  }
  if (bins_.empty()) bins_.resize(least_ < greatest_ ? kBins : 1);
  // Halves, because the whole range may overflow.
  const double share = least_ < greatest_ ? (number / 2 - least_ / 2) / (greatest_ / 2 - least_ / 2) : 0;
  const auto bin = static_cast<std::size_t>(share * static_cast<double>(bins_.size()));
  ++bins_[std::min(bin, bins_.size() - 1)];
}

config::Value Histogram::to_json() const {
  const bool some = !bins_.empty();
  return {{"least", some ? config::Value(least_) : config::Value()},
          {"greatest", some ? config::Value(greatest_) : config::Value()},
          {"bins", bins_},
          {"not_finite", not_finite_}};
}

}  // namespace ddp::datasets
