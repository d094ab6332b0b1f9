#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/registry.h"

namespace ddp::train {

// A measure of a model's outputs, taken batch by batch.
class Metric {
 public:
  virtual ~Metric() = default;
  // The part of one batch: float64 [k], k >= 0, on any device; k may differ between batches. Empty: the metric has no
  // meaning for these targets.
  virtual at::Tensor of_batch(const at::Tensor& output, const at::Tensor& target) const = 0;
  // The value over all batches, whose parts are given in the order of batches, on the CPU. NaN: not measured.
  virtual double value(const std::vector<at::Tensor>& parts) const = 0;
};

// A metric registers with the trait {"direction", "greater"} or {"direction", "less"}: which value is the better one.
// Events name it val_NAME.
using MetricRegistry = config::Registry<std::unique_ptr<Metric>>;
MetricRegistry& metrics();

// Every registered metric, by name, in the order of names.
using NamedMetrics = std::vector<std::pair<std::string, std::unique_ptr<Metric>>>;
NamedMetrics all_metrics();

}  // namespace ddp::train
