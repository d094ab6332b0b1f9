#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/experiment.h"
#include "data/batches.h"
#include "dist/parallel/parallel.h"
#include "record/metrics/metric_values.h"
#include "record/metrics/run_recorder.h"
#include "train/ema.h"
#include "train/loss/loss.h"
#include "train/metrics/measures.h"

namespace ddp::train {

struct RunEvaluationParts {
  const config::Experiment& experiment;
  c10::Device device;
  const dist::Group& group;
  dist::Parallel& model;
  const Loss& loss;
  Ema* ema = nullptr;                       // null: the weights are not averaged
  std::function<void()> batch_done;         // called after each batch
  record::RunRecorder* recorder = nullptr;  // on rank 0
};

// The evaluations of a run: the validation set during training, the test set at the end. Rank 0 records matrices, such
// as a confusion matrix, with the step.
class RunEvaluation {
 public:
  explicit RunEvaluation(RunEvaluationParts parts);

  // Returns val_loss and the other metrics under their names in events. Uses the averaged weights if the run has them.
  // Collective; the values are the same on every rank.
  record::MetricValues validate(const data::EvaluationSet& set, std::int64_t step);
  // Returns test_loss and the other metrics, measured with the model's current weights. Collective.
  record::MetricValues test(const data::EvaluationSet& set, std::int64_t step);

 private:
  record::MetricValues measure(const data::EvaluationSet& set, const std::string& prefix, std::int64_t step);

  const RunEvaluationParts p_;
  const Measures measures_;
};

}  // namespace ddp::train
