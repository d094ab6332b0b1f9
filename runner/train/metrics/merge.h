#pragma once

#include <utility>
#include <vector>

#include "dist/collectives.h"
#include "train/metrics/metric.h"

namespace ddp::train {

// Puts together what the ranks counted. Each call is a collective; the result is the same on every rank.
class Merge {
 public:
  explicit Merge(dist::Group group) : group_(std::move(group)) {}

  // Empties the statistics that any rank left out. Comes before counts() and pairs().
  void left_out(std::vector<Statistics>& of_metrics) const;
  // Adds the counts of all ranks, of each metric.
  void counts(std::vector<Statistics>& of_metrics) const;
  // Counts the pairs of scores of all ranks, of each metric, class by class. A class's scores are gathered, and one
  // rank ranks them: that takes 8 bytes a score of all ranks, and as much again for the ranking.
  void pairs(std::vector<Statistics>& of_metrics) const;

  // What a batch's parts add, apart from counts and scores: moves them from `one` into a row of numbers, and back.
  static void take_parts(Statistics& one, std::vector<double>& row);
  static void give_parts(const double*& next, Statistics& one);
  // Joins the parts that are there, in the order of batches, if the metric does so.
  static void join_parts(const Metric& metric, Statistics& one);
  // Moves the parts of `from` to `to`, which has none.
  static void move_parts(Statistics& from, Statistics& to) { to.parts_ = std::move(from.parts_); }

 private:
  void pairs(Statistics& one, std::size_t classes) const;

  const dist::Group group_;
};

}  // namespace ddp::train
