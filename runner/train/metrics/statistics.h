#pragma once

#include <cstdint>
#include <vector>

namespace ddp::train {

// How often a sample of a class, or with a label, has a higher score than one without it.
struct RankedPairs {
  std::int64_t positives = 0;
  std::int64_t negatives = 0;
  std::int64_t wins = 0;  // pairs in which the positive one has the higher score, counted twice; a tie counts once
};

// What a metric keeps of the batches. Every part of it is the same for any number of ranks: whole numbers add exactly,
// and floating-point numbers are kept apart, batch by batch.
class Statistics {
 public:
  // Whole numbers, which are added up over batches and ranks. Takes as many as there are to be, the same number for
  // each batch; they begin at 0.
  std::int64_t* counts(std::size_t size) {
    if (counts_.empty()) counts_.resize(size);
    return counts_.data();
  }
  // Numbers of one batch, or of a part of one.
  void add_part(std::vector<double> numbers) { parts_.push_back(std::move(numbers)); }
  // One part for a whole batch, which is 0 to begin with: what is computed of a batch piece by piece adds to it.
  std::vector<double>& part_of_batch(std::size_t size) {
    if (part_of_batch_ == kNone) {
      part_of_batch_ = parts_.size();
      parts_.emplace_back(size, 0.0);
    }
    return parts_[part_of_batch_];
  }
  void begin_batch() { part_of_batch_ = kNone; }
  // A score, no less than 0, of a sample that is of that class (or has that label), or is not: of 0 <= at < classes.
  void add_score(std::size_t at, std::size_t classes, double score, bool positive);

  // There is to be no value: once the statistics of all ranks are put together, they are empty.
  void leave_out() { left_out_ = true; }

  const std::vector<std::int64_t>& counts() const { return counts_; }
  // In the order of batches; a single one of a metric that joins them.
  const std::vector<std::vector<double>>& parts() const { return parts_; }
  // Of each class; there once the statistics of all ranks are put together.
  const std::vector<RankedPairs>& pairs() const { return pairs_; }
  // No batch added anything.
  bool empty() const { return counts_.empty() && parts_.empty() && keys_.empty() && pairs_.empty(); }

 private:
  friend class Merge;

  static constexpr std::size_t kNone = ~std::size_t{0};

  std::vector<std::int64_t> counts_;
  std::vector<std::vector<double>> parts_;
  std::size_t part_of_batch_ = kNone;
  std::vector<std::vector<std::uint64_t>> keys_;  // of each class: ranking.h
  std::vector<RankedPairs> pairs_;
  bool left_out_ = false;
};

}  // namespace ddp::train
