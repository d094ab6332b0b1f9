#include <limits>

#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

// Numbers: their mean, and the sum of squares around it.
struct Spread {
  double mean = 0;
  double squares = 0;

  // Chan, Golub and LeVeque 1979: avoids subtracting large squares from each other. Both counts are above 0.
  void add(double count, const Spread& other, double other_count) {
    const double part = other_count / (count + other_count);
    const double apart = other.mean - mean;
    squares += other.squares + apart * apart * count * part;
    mean += apart * part;
  }
};

// The targets of some rows, and their errors.
struct Explained {
  double count = 0;
  Spread targets = {}, errors = {};
  double squared_errors = 0;

  void add(const Explained& other) {
    if (other.count == 0) return;
    targets.add(count, other.targets, other.count);
    errors.add(count, other.errors, other.count);
    squared_errors += other.squared_errors;
    count += other.count;
  }
};

// `value`: of a row. Sums around the first one, to keep precision if all are large.
template <class Value>
Spread spread_of(std::int64_t rows, const Value& value) {
  const double first = value(0);
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row) sum += value(row) - first;
  Spread spread{.mean = first + sum / static_cast<double>(rows)};
  for (std::int64_t row = 0; row < rows; ++row) {
    const double around = value(row) - spread.mean;
    spread.squares += around * around;
  }
  return spread;
}

Explained explained_in(const Scores& batch, std::int64_t column) {
  Explained all{.count = static_cast<double>(batch.rows())};
  if (batch.rows() == 0) return all;
  const auto target = [&](std::int64_t row) { return batch.targets()[row * batch.columns() + column]; };
  const auto error = [&](std::int64_t row) { return target(row) - batch.outputs()[row * batch.columns() + column]; };
  all.targets = spread_of(batch.rows(), target);
  all.errors = spread_of(batch.rows(), error);
  for (std::int64_t row = 0; row < batch.rows(); ++row) all.squared_errors += error(row) * error(row);
  return all;
}

// A constant target gives 1 if nothing is left, else 0.
double share_explained(double left, double whole) { return left == 0 ? 1 : whole == 0 ? 0 : 1 - left / whole; }

double r2(const Explained& all) {
  if (all.count < 2) return std::numeric_limits<double>::quiet_NaN();
  return share_explained(all.squared_errors, all.targets.squares);
}

double explained_variance(const Explained& all) { return share_explained(all.errors.squares, all.targets.squares); }

// r2_score and explained_variance_score of scikit-learn: the mean over the targets of a row. Fewer than two rows give
// no r2. A part: the Explained of each target.
class Variance final : public Metric {
 public:
  using Measure = double (*)(const Explained&);
  Variance(const char* name, Measure measure) : name_(name), measure_(measure) {}

  void add(const Scores& batch, Statistics& statistics) const override {
    auto& part = statistics.part_of_batch(static_cast<std::size_t>(batch.columns()) * kNumbers);
    for (std::int64_t column = 0; column < batch.columns(); ++column) {
      add_to(part.data() + column * kNumbers, explained_in(batch, column));
    }
  }

  bool join(std::vector<double>& sum, const std::vector<double>& next) const override {
    require_as_many_targets(name_, sum.size(), next.size());
    for (std::size_t at = 0; at < sum.size(); at += kNumbers) add_to(sum.data() + at, read(next.data() + at));
    return true;
  }

  double value(const Statistics& all) const override {
    const auto& part = all.parts().front();
    double sum = 0;
    for (std::size_t at = 0; at < part.size(); at += kNumbers) sum += measure_(read(part.data() + at));
    return sum / static_cast<double>(part.size() / kNumbers);
  }

 private:
  static constexpr std::size_t kNumbers = 6;

  static Explained read(const double* p) {
    return {.count = p[0], .targets = {p[1], p[2]}, .errors = {p[3], p[4]}, .squared_errors = p[5]};
  }

  static void add_to(double* numbers, const Explained& other) {
    Explained all = read(numbers);
    all.add(other);
    const double joined[kNumbers] = {all.count,       all.targets.mean,   all.targets.squares,
                                     all.errors.mean, all.errors.squares, all.squared_errors};
    for (std::size_t i = 0; i < kNumbers; ++i) numbers[i] = joined[i];
  }

  const char* const name_;
  const Measure measure_;
};

bool add_variance(const char* name, const char* doc, Variance::Measure measure) {
  return metrics().add<config::NoOptions>(
      name, doc, [name, measure](const config::NoOptions&) { return std::make_unique<Variance>(name, measure); },
      {{"direction", "greater"}, {"of", {"numbers"}}});
}

const bool r2_registered = add_variance("r2", "share of the targets' variance that the outputs explain", r2);
const bool explained_variance_registered =
    add_variance("explained_variance", "the same as r2, but for a constant error", explained_variance);

}  // namespace
}  // namespace ddp::train
