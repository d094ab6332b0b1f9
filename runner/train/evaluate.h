#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "data/batches.h"
#include "dist/parallel/parallel.h"
#include "model/numerics.h"
#include "record/metrics/metric_values.h"
#include "train/evaluation_curves.h"
#include "train/loss/loss.h"
#include "train/metrics/measures.h"

namespace ddp::train {

struct TrainerParts;

// The parts of an evaluation; all outlive it.
struct EvaluationParts {
  dist::Parallel& model;
  const dist::Group& group;
  const Loss& loss;
  const Measures& measures;
  std::vector<std::string> scalars;  // names of the scalars that come with the loss
  const data::EvaluationSet& set;
  c10::Device device;
  std::function<void()> batch_done;  // called after each batch
  model::Numerics numerics = {};
  bool records = false;                // may_record(): static forwards are replayed
  EvaluationCurves* curves = nullptr;  // null: not wanted
  bool agrees = false;                 // data of URLs may not come: all ranks end the evaluation together
};

struct Measured {
  record::MetricValues values;      // means over samples: "loss", its scalars; then each metric; NaN: no value
  config::Value matrices;           // object: metric name to list of rows
  Decider::Parts scores = {};       // for the measures' decider
  config::Value curves = {};        // on rank 0: EvaluationCurves::result(); null: not wanted
  std::string not_replayed = {};    // why this rank stopped to replay forwards, if one had other bits; empty: none had
  std::int64_t nan_samples = 0;     // samples with a NaN in their outputs; if there are any, nothing has a value
  bool lacks_data = false;          // EvaluationParts::agrees: a batch did not come to a rank, and nothing has a value
  std::exception_ptr failure = {};  // why it did not come to this rank; null: it was another rank's

  // Returns the warning about these samples; `prefix`: of the set's metrics, or "".
  std::string warning(const std::string& prefix) const;
};

// Broadcasts rank 0's buffers, then measures the bare model in eval mode. Each rank takes whole batches. The batches'
// float64 sums are added in the order of batches, so the result has the same bits on any number of ranks. Draws no
// random numbers. Collective; the result is the same on every rank, except for Measured::failure.
Measured evaluate(const EvaluationParts& evaluator);

// Measures a set of a run with the model's current weights. `curves`: also measures these; null: they are not wanted.
// Collective; the values are the same on every rank. The caller looks at Measured::lacks_data.
Measured measure_set(const TrainerParts& parts, const Measures& measures, const data::EvaluationSet& set,
                     EvaluationCurves* curves = nullptr);

// Returns the loss and the metrics under their names in events, which begin with `prefix`. Rank 0 warns about outputs
// that are NaN, and records matrices, such as a confusion matrix, with the step.
record::MetricValues recorded(const TrainerParts& parts, Measured measured, const std::string& prefix,
                              std::int64_t step);

}  // namespace ddp::train
