#include "train/metrics/decision.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace ddp::train {
namespace {

constexpr std::int64_t kMostOfRow = 64;                       // of a row, on average
constexpr double kLeastLog = -745;                            // exp of less is 0
constexpr double kLeastFactor = 4.5e-5, kMostFactor = 22026;  // exp(-10), exp(10): bounds of a temperature

// A part begins with the number of columns and the place of the positive class (-1: there are more than two classes).
// The rows follow: the target, then the probabilities.
constexpr std::size_t kHead = 2;

using ScoredRow = const double*;

void for_each_row(const Decider::Parts& parts, const std::function<void(ScoredRow, std::int64_t)>& take) {
  for (const std::vector<double>& part : parts) {
    const auto columns = static_cast<std::int64_t>(part[0]);
    for (std::size_t at = kHead; at < part.size(); at += static_cast<std::size_t>(columns) + 1) {
      take(part.data() + at, columns);
    }
  }
}

double bounded_log(double probability) { return std::max(std::log(probability), kLeastLog); }

// The logits, up to a constant, of a row of probabilities; of one label those of "not set" and "set".
std::vector<double> logits_of(const double* probabilities, std::int64_t columns) {
  if (columns == 1) return {bounded_log(1 - *probabilities), bounded_log(*probabilities)};
  std::vector<double> logits;
  for (std::int64_t c = 0; c < columns; ++c) logits.push_back(bounded_log(probabilities[c]));
  return logits;
}

// Replaces logits by the softmax of logits * factor.
void soften(std::vector<double>& logits, double factor) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double& one : logits) sum += one = std::exp((one - most) * factor);
  for (double& one : logits) one /= sum;
}

// Newton's method on 1 / temperature, in which the likelihood is concave, inside bounds that shrink.
double fitted_temperature(const Decider::Parts& parts) {
  double low = kLeastFactor, high = kMostFactor, factor = 1;
  for (int turn = 0; turn < 200; ++turn) {
    double slope = 0, bend = 0;
    for_each_row(parts, [&](ScoredRow row, std::int64_t columns) {
      const std::vector<double> logits = logits_of(row + 1, columns);
      std::vector<double> p = logits;
      soften(p, factor);
      double mean = 0, square = 0;
      for (std::size_t c = 0; c < p.size(); ++c) mean += p[c] * logits[c];
      for (std::size_t c = 0; c < p.size(); ++c) square += p[c] * (logits[c] - mean) * (logits[c] - mean);
      slope += mean - logits[static_cast<std::size_t>(row[0])];
      bend += square;
    });
    if (slope == 0) break;
    (slope > 0 ? high : low) = factor;
    double next = factor - slope / bend;
    if (!(next > low && next < high)) next = std::sqrt(low * high);
    const bool done = std::abs(next - factor) <= 1e-14 * factor;
    factor = next;
    if (done) break;
  }
  return 1 / factor;
}

struct Block {
  double x, sum, weight;
};

// Pool adjacent violators (Barlow et al. 1972) on means of equal probabilities.
Decision::Curve isotonic_of(std::vector<std::pair<double, double>> points) {
  constexpr double kSame = 1e-15;  // scikit-learn takes closer ones as equal
  std::sort(points.begin(), points.end());
  std::vector<Block> distinct;
  for (const auto& [x, y] : points) {
    if (distinct.empty() || x - distinct.back().x >= kSame) distinct.push_back({x, 0, 0});
    distinct.back().sum += y;
    distinct.back().weight += 1;
  }
  std::vector<std::pair<Block, std::size_t>> pooled;  // with the number of points
  for (const Block& one : distinct) {
    pooled.emplace_back(one, 1);
    const auto mean = [&](std::size_t back) {
      const Block& block = pooled[pooled.size() - back].first;
      return block.sum / block.weight;
    };
    while (pooled.size() > 1 && mean(2) >= mean(1)) {
      const auto [last, count] = pooled.back();
      pooled.pop_back();
      pooled.back().first.sum += last.sum;
      pooled.back().first.weight += last.weight;
      pooled.back().second += count;
    }
  }
  // Of a block of equal values the ends are enough.
  Decision::Curve curve;
  std::size_t first = 0;
  for (const auto& [block, count] : pooled) {
    const double value = block.sum / block.weight;
    for (const std::size_t end : {first, first + count - 1}) {
      if (!curve.x.empty() && curve.x.back() == distinct[end].x) continue;
      curve.x.push_back(distinct[end].x);
      curve.y.push_back(value);
    }
    first += count;
  }
  return curve;
}

std::vector<Decision::Curve> fitted_curves(const Decider::Parts& parts, std::int64_t columns, std::int64_t positive) {
  std::vector<Decision::Curve> curves;
  for (std::int64_t c = std::max<std::int64_t>(positive, 0); c < (positive < 0 ? columns : positive + 1); ++c) {
    std::vector<std::pair<double, double>> points;
    for_each_row(parts, [&](ScoredRow row, std::int64_t) {
      points.emplace_back(row[1 + c], columns == 1 ? row[0] : row[0] == static_cast<double>(c) ? 1 : 0);
    });
    curves.push_back(isotonic_of(std::move(points)));
  }
  return curves;
}

// `scored`: the probability of the positive class of each row, and whether it has it.
double fitted_threshold(std::vector<std::pair<double, bool>> scored, bool for_f1) {
  std::sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto positives =
      static_cast<double>(std::count_if(scored.begin(), scored.end(), [](const auto& one) { return one.second; }));
  const double negatives = static_cast<double>(scored.size()) - positives;
  double found = 0.5, best = -1, right = 0, wrong = 0;
  for (std::size_t i = 0; i < scored.size(); ++i) {
    (scored[i].second ? right : wrong) += 1;
    const double next = i + 1 < scored.size() ? scored[i + 1].first : 0;
    if (i + 1 < scored.size() && next == scored[i].first) continue;
    const double measure = for_f1 ? 2 * right / (right + wrong + positives) : right / positives - wrong / negatives;
    if (!(measure > best)) continue;  // NaN: a class is absent
    best = measure;
    found = (scored[i].first + next) / 2;
  }
  return found;
}

// Returns the positive class's place, -1 without one, or that of the label.
std::int64_t positive_in(const Decider::Parts& parts) { return static_cast<std::int64_t>(parts.front()[1]); }

}  // namespace

double Decision::Curve::at(double value) const {
  const auto above = std::upper_bound(x.begin(), x.end(), value);
  if (above == x.begin()) return y.front();
  if (above == x.end()) return y.back();
  const auto i = static_cast<std::size_t>(above - x.begin());
  return y[i - 1] + (y[i] - y[i - 1]) / (x[i] - x[i - 1]) * (value - x[i - 1]);
}

void Decision::Curve::fields(config::Fields& f) {
  f({.name = "x"}, x);
  f({.name = "y"}, y);
}

void Decision::fields(config::Fields& f) {
  f({.name = "temperature"}, temperature);
  f({.name = "isotonic"}, isotonic);
  f({.name = "threshold"}, threshold);
  f({.name = "positive"}, positive);
}

void Decision::calibrate(double* row, std::int64_t columns) const {
  if (temperature) {
    std::vector<double> p = logits_of(row, columns);
    soften(p, 1 / *temperature);
    std::copy(columns == 1 ? p.begin() + 1 : p.begin(), p.end(), row);
  }
  if (isotonic.size() == 1) {
    const double of_positive = isotonic.front().at(row[positive]);
    for (std::int64_t c = 0; c < columns; ++c) row[c] = c == positive ? of_positive : 1 - of_positive;
  } else if (!isotonic.empty()) {
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) sum += row[c] = isotonic[static_cast<std::size_t>(c)].at(row[c]);
    for (std::int64_t c = 0; c < columns; ++c) row[c] = sum == 0 ? 1.0 / static_cast<double>(columns) : row[c] / sum;
  }
}

at::Tensor Decision::calibrated(const at::Tensor& probabilities) const {
  if (!calibrates()) return probabilities;
  const at::Tensor rows = probabilities.to(at::kDouble).movedim(1, -1).clone(at::MemoryFormat::Contiguous);
  const std::int64_t columns = rows.size(-1);
  auto* const first = rows.mutable_data_ptr<double>();
  for (double* row = first; row < first + rows.numel(); row += columns) calibrate(row, columns);
  return rows.movedim(-1, 1);
}

std::string Decider::refusal(const Scores& batch) const {
  const bool fits = batch.meaning() == OutputMeaning::classes || batch.is_binary();
  if (!fits) return "it needs classes, or one label";
  return decide_.threshold.is_null() || batch.is_binary() ? "" : "a threshold needs two classes, or one label";
}

void Decider::add(const Scores& batch, Statistics& statistics) const {
  const std::int64_t columns = batch.columns(), step = (columns + kMostOfRow - 1) / kMostOfRow;
  std::vector<double> part{static_cast<double>(columns),
                           batch.is_binary() ? static_cast<double>(batch.positive()) : -1};
  const bool of_classes = batch.meaning() == OutputMeaning::classes;
  for (std::int64_t row = 0; row < batch.rows(); row += step) {
    const double* const p = batch.probabilities() + row * columns;
    part.push_back(of_classes ? static_cast<double>(batch.classes()[row]) : batch.is_positive(row) ? 1 : 0);
    part.insert(part.end(), p, p + columns);
  }
  statistics.add_part(std::move(part));
}

double Decider::value(const Statistics&) const { return std::numeric_limits<double>::quiet_NaN(); }

Decision Decider::fit(const Parts& parts) const {
  Decision decision;
  const auto columns = static_cast<std::int64_t>(parts.front()[0]);
  const std::int64_t positive = positive_in(parts);
  decision.positive = std::max<std::int64_t>(positive, 0);
  if (decide_.calibrate == "temperature") decision.temperature = fitted_temperature(parts);
  if (decide_.calibrate == "isotonic") decision.isotonic = fitted_curves(parts, columns, positive);
  if (decide_.threshold.is_number()) decision.threshold = decide_.threshold.get<double>();
  if (decide_.threshold.is_string()) {
    decision.threshold = fitted_threshold(calibration(parts, decision).scored, decide_.threshold == "f1");
  }
  return decision;
}

Decider::Calibration Decider::calibration(const Parts& parts, const Decision& decision) {
  Calibration found;
  const std::int64_t positive = positive_in(parts);
  for_each_row(parts, [&](ScoredRow row, std::int64_t columns) {
    std::vector<double> p(row + 1, row + 1 + columns);
    decision.calibrate(p.data(), columns);
    const auto target = static_cast<std::int64_t>(row[0]);
    const bool of_label = columns == 1;
    const double of_target = of_label ? (target == 1 ? p[0] : 1 - p[0]) : p[static_cast<std::size_t>(target)];
    found.log_loss -= std::log(std::max(of_target, std::numeric_limits<double>::epsilon()));
    const std::int64_t best = positive >= 0 ? positive : std::max_element(p.begin(), p.end()) - p.begin();
    found.scored.emplace_back(p[static_cast<std::size_t>(best)], of_label ? target == 1 : target == best);
  });
  found.log_loss /= static_cast<double>(found.scored.size());
  return found;
}

}  // namespace ddp::train
