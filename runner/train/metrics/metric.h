#pragma once

#include <memory>
#include <string>

#include "config/registry.h"
#include "train/metrics/scores.h"
#include "train/metrics/statistics.h"

namespace ddp::train {

// A measure of a model's outputs, taken batch by batch: what each batch adds goes into statistics that all ranks put
// together; one number is made of them. It keeps nothing itself.
class Metric {
 public:
  virtual ~Metric() = default;
  // Why these outputs and targets cannot be measured, as a clause ("it needs …"); empty: they can be.
  virtual std::string refusal(const Scores&) const { return ""; }
  // Adds a batch, or a part of one, which refusal() lets pass.
  virtual void add(const Scores& batch, Statistics& statistics) const = 0;
  // Adds the next part, in the order of batches, to the sum of those before it, so that they need not all be kept.
  // Returns whether it does: false of a metric whose parts are kept, one by one.
  virtual bool join(std::vector<double>& sum, const std::vector<double>& next) const {
    static_cast<void>(sum);
    static_cast<void>(next);
    return false;
  }
  // The value over all batches, whose statistics are those of all ranks. NaN: there is none, which is null in JSON.
  virtual double value(const Statistics& all) const = 0;
};

// Throws ddp::Error (usage) where two batches have not as many targets in a row, of a metric that measures each target.
// Sizes: of their parts.
void require_as_many_targets(const std::string& metric, std::size_t first, std::size_t second);

// A metric registers with the trait {"direction", "greater"} or {"direction", "less"}: which value is the better one.
// Events name it val_NAME. Further traits: {"of", ["classes", "labels", "numbers"]}, the kinds of targets that it
// measures (all, where it is left out); {"number", "n"} of a name that ends in N: any number may stand for the N, and
// is given as the option n; {"matrix", true}: counts is a square matrix, for summary.json, and there is no value.
using MetricRegistry = config::Registry<std::unique_ptr<Metric>>;
MetricRegistry& metrics();

}  // namespace ddp::train
