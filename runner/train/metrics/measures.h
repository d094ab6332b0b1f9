#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "train/metrics/metric.h"

namespace ddp::train {

// The metrics that an experiment measures, beside the loss: those of its key `metrics`; without the key accuracy, where
// targets are classes or labels.
class Measures {
 public:
  // A metric under its name in `metrics`.
  struct Named {
    std::string name;
    std::string key;  // "metrics[0]"
    std::unique_ptr<Metric> metric;
    std::vector<std::string> of;  // the kinds of targets that it measures; empty: all
    bool matrix = false;
  };

  // Throws ddp::Error (usage) where there is no such metric.
  explicit Measures(const config::Experiment& experiment);

  // Throws ddp::Error (usage) where a metric of the key cannot be measured of such outputs and targets.
  void require(const at::Tensor& output, const at::Tensor& target) const;
  // Adds a batch to the statistics, of which there is one for each metric. Throws as require(). A metric that nobody
  // asked for is left out of the whole evaluation where a batch of any rank does not fit: no value says too much.
  void add(const at::Tensor& output, const at::Tensor& target, std::vector<Statistics>& statistics) const;

  const std::vector<Named>& metrics() const { return metrics_; }
  // Were they asked for? Else those that do not fit are left out.
  bool given() const { return given_; }

 private:
  Error cannot(const Named& one, const std::string& why, const Scores& scores) const;

  std::vector<Named> metrics_;
  bool given_ = false;
  OutputKind outputs_ = OutputKind::unknown;
  std::int64_t ignored_;  // targets of this class do not count
};

}  // namespace ddp::train
