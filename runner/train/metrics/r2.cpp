#include <limits>

#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

// Targets of some rows: their number, mean, sum of squares around the mean, and sum of squared errors.
struct Spread {
  double count = 0;
  double mean = 0;
  double squares = 0;
  double errors = 0;

  // Chan, Golub and LeVeque 1979: avoids subtracting large squares from each other.
  void add(const Spread& other) {
    const double both = count + other.count;
    if (other.count == 0) return;
    const double apart = other.mean - mean;
    squares += other.squares + apart * apart * count * (other.count / both);
    mean += apart * (other.count / both);
    count = both;
    errors += other.errors;
  }
};

Spread spread_of(const Scores& batch, std::int64_t column) {
  Spread spread{.count = static_cast<double>(batch.rows())};
  const std::int64_t columns = batch.columns();
  const std::int64_t end = batch.rows() * columns;
  // Sums around the first target, to keep precision if targets are large.
  const double first = batch.rows() == 0 ? 0 : batch.targets()[column];
  double sum = 0;
  for (std::int64_t i = column; i < end; i += columns) sum += batch.targets()[i] - first;
  spread.mean = batch.rows() == 0 ? 0 : first + sum / spread.count;
  for (std::int64_t i = column; i < end; i += columns) {
    const double around = batch.targets()[i] - spread.mean;
    const double error = batch.targets()[i] - batch.outputs()[i];
    spread.squares += around * around;
    spread.errors += error * error;
  }
  return spread;
}

// r2_score of scikit-learn: the mean over the targets of a row. A constant target gives 1 if every output is right,
// else 0. Fewer than two rows give no value. A part: the Spread of each target.
class R2 final : public Metric {
 public:
  void add(const Scores& batch, Statistics& statistics) const override {
    auto& part = statistics.part_of_batch(static_cast<std::size_t>(batch.columns()) * kNumbers);
    for (std::int64_t column = 0; column < batch.columns(); ++column) {
      add_to(part.data() + column * kNumbers, spread_of(batch, column));
    }
  }

  bool join(std::vector<double>& sum, const std::vector<double>& next) const override {
    require_as_many_targets("r2", sum.size(), next.size());
    for (std::size_t at = 0; at < sum.size(); at += kNumbers) add_to(sum.data() + at, spread_at(next.data() + at));
    return true;
  }

  double value(const Statistics& all) const override {
    const auto& part = all.parts().front();
    double sum = 0;
    for (std::size_t at = 0; at < part.size(); at += kNumbers) {
      const Spread spread = spread_at(part.data() + at);
      if (spread.count < 2) return std::numeric_limits<double>::quiet_NaN();
      sum += spread.errors == 0 ? 1 : spread.squares == 0 ? 0 : 1 - spread.errors / spread.squares;
    }
    return sum / static_cast<double>(part.size() / kNumbers);
  }

 private:
  static constexpr std::size_t kNumbers = 4;

  static Spread spread_at(const double* p) { return {.count = p[0], .mean = p[1], .squares = p[2], .errors = p[3]}; }

  static void add_to(double* numbers, const Spread& other) {
    Spread spread = spread_at(numbers);
    spread.add(other);
    numbers[0] = spread.count;
    numbers[1] = spread.mean;
    numbers[2] = spread.squares;
    numbers[3] = spread.errors;
  }
};

const bool r2_registered =
    metrics().add<config::NoOptions>("r2", "share of the targets' variance that the outputs explain", config::made<R2>,
                                     {{"direction", "greater"}, {"of", {"numbers"}}});

}  // namespace
}  // namespace ddp::train
