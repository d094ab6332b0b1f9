#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "model/named_tensors.h"
#include "train/loss/loss.h"
#include "train/metrics/decision.h"
#include "train/metrics/metric.h"

namespace ddp::train {

// The metrics that an experiment measures beside the loss, from its key `metrics`. Without the key: accuracy, if
// targets are classes or labels.
class Measures {
 public:
  // A metric under its name in `metrics`.
  struct Named {
    std::string name;
    std::string key;     // place of the name: "metrics[0]"
    std::string output;  // the output, and the target, that it measures; "": the main output and the only target
    std::unique_ptr<Metric> metric;
    std::vector<std::string> of;  // kinds of targets that the metric measures; empty: all
    bool matrix = false;
  };
  // The name of the Decider among the metrics, if there is a [decide].
  static constexpr const char* kDecide = "[decide]";

  // `preprocessing`: of the training data; it has the scales of the targets, and the names of classes. Throws
  // ddp::Error (usage) if a metric is not registered.
  explicit Measures(const config::Experiment& experiment, const config::Value& preprocessing = nullptr);

  // Passes a batch to `take` in parts, as its metrics see it.
  void for_each_part(const at::Tensor& output, const at::Tensor& target,
                     const std::function<void(const Scores&)>& take) const;

  // Throws ddp::Error (usage) if a metric of the key cannot be measured for these outputs and targets. `main`: see
  // answers_of(); without them the metrics of the main output get nothing.
  void require(const std::optional<Answers>& main, const NamedTensors& outputs, const NamedTensors& targets) const;
  // Adds a batch to the statistics, one for each metric. Throws as require(). A default metric is left out of the whole
  // evaluation if it cannot measure one batch of any rank, because its value would cover only a part of the data.
  void add(const std::optional<Answers>& main, const NamedTensors& outputs, const NamedTensors& targets,
           std::vector<Statistics>& statistics) const;

  // Returns the name of a class, for people.
  std::string class_name(std::int64_t number) const;

  const std::vector<Named>& metrics() const { return metrics_; }
  // The columns of several targets; empty: there is one, or they have no names.
  const std::vector<std::string>& targets() const { return targets_; }
  // Tells whether the experiment has the key. If not, metrics that cannot be measured are left out.
  bool given() const { return given_; }
  bool needs_main_output() const;
  // Null: there is no [decide].
  const Decider* decider() const { return decider_; }

 private:
  void add_part(const Scores& scores, const std::string& output, std::vector<Statistics>& statistics) const;

  std::vector<Named> metrics_;
  const Decider* decider_ = nullptr;  // of metrics_
  bool given_ = false;
  Reading reading_;
  std::vector<std::string> classes_;  // empty: they have no names
  std::vector<std::string> targets_;
};

}  // namespace ddp::train
