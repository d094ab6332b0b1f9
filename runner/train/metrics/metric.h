#pragma once

#include <memory>
#include <string>

#include "config/registry.h"
#include "train/metrics/scores.h"
#include "train/metrics/statistics.h"

namespace ddp::train {

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
