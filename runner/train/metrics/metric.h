#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/registry.h"
#include "train/metrics/scores.h"

namespace ddp::train {

// A summary of the order of scores: of samples of a class, or with a label, and of samples without it.
struct Ranking {
  std::int64_t positives = 0;
  std::int64_t negatives = 0;
  std::int64_t wins = 0;  // pairs in which the positive sample has the higher score, counted twice; a tie counts once
  double average_precision = 0;  // the sum over thresholds of the gain of recall times the precision
  double median = 0;             // of all scores
};

// The data that a metric keeps from the batches. The data are the same for any number of ranks: integers add exactly,
// and floating-point numbers are kept separately for each batch.
class Statistics {
 public:
  // Integers that are summed over batches and ranks, initially 0. `size` must be the same for every batch.
  std::int64_t* counts(std::size_t size) {
    if (counts_.empty()) counts_.resize(size);
    return counts_.data();
  }
  // Adds numbers of one batch, or of a part of one.
  void add_part(std::vector<double> numbers) { parts_.push_back(std::move(numbers)); }
  // Returns the one part of the current batch, initially 0, for metrics that add to it piece by piece.
  std::vector<double>& part_of_batch(std::size_t size) {
    if (part_of_batch_ == kNone) {
      part_of_batch_ = parts_.size();
      parts_.emplace_back(size, 0.0);
    }
    return parts_[part_of_batch_];
  }
  void begin_batch() { part_of_batch_ = kNone; }
  // Adds the score (>= 0) of a sample for class or label `at`, 0 <= at < classes. `positive`: the sample has the class.
  void add_score(std::size_t at, std::size_t classes, double score, bool positive);

  // Marks the metric as without a value: the merged statistics of all ranks will be empty.
  void leave_out() { left_out_ = true; }

  const std::vector<std::int64_t>& counts() const { return counts_; }
  // The parts in the order of batches; a single part for a metric that joins them.
  const std::vector<std::vector<double>>& parts() const { return parts_; }
  // The ranking of each class; available after the ranks' statistics are merged.
  const std::vector<Ranking>& rankings() const { return rankings_; }
  // Tells whether no batch added anything.
  bool empty() const { return counts_.empty() && parts_.empty() && keys_.empty() && rankings_.empty(); }

 private:
  friend class Merge;

  static constexpr std::size_t kNone = ~std::size_t{0};

  std::vector<std::int64_t> counts_;
  std::vector<std::vector<double>> parts_;
  std::size_t part_of_batch_ = kNone;
  std::vector<std::vector<std::uint64_t>> keys_;  // of each class; see merge.h
  std::vector<Ranking> rankings_;
  bool left_out_ = false;
};

// A measure of a model's outputs. Each batch adds to statistics, which are merged over all ranks and give one number. A
// metric has no state of its own.
class Metric {
 public:
  virtual ~Metric() = default;
  // Returns why these outputs and targets cannot be measured, as a clause ("it needs …"); empty: they can be.
  virtual std::string refusal(const Scores&) const { return ""; }
  // Adds a batch or a part of one that refusal() accepts.
  virtual void add(const Scores& batch, Statistics& statistics) const = 0;
  // Adds the next part, in the order of batches, to the sum of the parts before it, to save memory. Returns false if
  // the metric needs every part separately.
  virtual bool join(std::vector<double>& sum, const std::vector<double>& next) const {
    static_cast<void>(sum);
    static_cast<void>(next);
    return false;
  }
  // Returns the value over all batches of all ranks. NaN: no value, which is null in JSON.
  virtual double value(const Statistics& all) const = 0;
  // Returns the value of each of several targets in a row; {}: the metric does not tell them apart.
  virtual std::vector<double> values_of_targets(const Statistics& all) const {
    static_cast<void>(all);
    return {};
  }
};

// Throws ddp::Error (usage) if two batches differ in their number of targets in a row, for a metric that measures each
// target. `first`, `second`: the sizes of their parts.
void require_as_many_targets(const std::string& metric, std::size_t first, std::size_t second);

// A metric registers with the trait {"direction", "greater"} or {"direction", "less"}, the better value. Its name in
// events is val_NAME. Further traits: {"of", ["classes", "labels", "numbers"]}, the kinds of targets that it measures
// (default: all); {"number", "n"} for a name that ends in N: any number may replace the N and becomes the option n;
// {"matrix", true}: counts is a square matrix for summary.json, and the metric has no value.
using MetricRegistry = config::Registry<std::unique_ptr<Metric>>;
MetricRegistry& metrics();

}  // namespace ddp::train
