#pragma once

#include <functional>

#include "data/evaluation.h"
#include "dist/parallel/parallel.h"
#include "model/numerics.h"
#include "record/metrics/metric_values.h"
#include "train/loss/loss.h"
#include "train/metrics/measures.h"

namespace ddp::train {

// The parts of an evaluation, which outlive it.
struct Evaluator {
  dist::Parallel& model;
  const dist::Group& group;
  const Loss& loss;
  const Measures& measures;
  const data::EvaluationSet& set;
  c10::Device device;
  std::function<void()> batch_done;  // is called after each batch
  model::Numerics numerics = {};
};

struct Measured {
  record::MetricValues values;  // "loss", the mean over samples, then each metric; NaN: it has no value
  config::Value matrices;       // by the name of the metric, a list of rows; an object
};

// Measures the bare model in eval mode, after rank 0's buffers went to every rank. Each rank takes whole batches;
// float64 sums of batches are added in the order of batches, so that the result has the same bits on any number of
// ranks. Draws nothing. Collective; the result is the same on every rank.
Measured evaluate(const Evaluator& evaluator);

}  // namespace ddp::train
