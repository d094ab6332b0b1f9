#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "dist/collectives.h"
#include "train/metrics/metric.h"

namespace ddp::train {

// Encodes a score >= 0 and whether its sample is positive as a number. Keys sort like scores, because the bits of a
// non-negative double, without the sign bit, have the order of its values. NaN sorts last.
std::uint64_t ranking_key(double score, bool positive);

// Sorts the keys. Needs 8 more bytes for each key during the call.
void sort_keys(std::vector<std::uint64_t>& keys);

// Ranks sorted keys. Pairs of a positive and a negative sample: Mann and Whitney 1947, U; ties are exact.
Ranking ranking_of(const std::vector<std::uint64_t>& keys);

// Merges the statistics of all ranks. Each call is a collective; the result is the same on every rank.
class Merge {
 public:
  explicit Merge(dist::Group group) : group_(std::move(group)) {}

  // Empties the statistics that any rank left out. Call before counts() and pairs().
  void left_out(std::vector<Statistics>& of_metrics) const;
  // Sums the counts of all ranks, for each metric.
  void counts(std::vector<Statistics>& of_metrics) const;
  // Ranks the scores of all ranks, for each metric, class by class. Each rank sorts its own scores of a class; one rank
  // merges the scores of all ranks, which takes 16 bytes for each of them.
  void rankings(std::vector<Statistics>& of_metrics) const;

  // take_parts() moves the parts of a batch from `one` into a row of numbers; give_parts() moves them back. Counts and
  // scores stay.
  static void take_parts(Statistics& one, std::vector<double>& row);
  static void give_parts(const double*& next, Statistics& one);
  // Joins the parts in the order of batches, if the metric supports it.
  static void join_parts(const Metric& metric, Statistics& one);
  // Moves the parts of `from` to `to`, which must have none.
  static void move_parts(Statistics& from, Statistics& to) { to.parts_ = std::move(from.parts_); }

 private:
  void rankings(Statistics& one, std::size_t classes) const;

  const dist::Group group_;
};

}  // namespace ddp::train
