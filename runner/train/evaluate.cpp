#include "train/evaluate.h"

#include <cmath>
#include <limits>

#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include "model/call.h"
#include "train/batch_rows.h"
#include "train/metrics/merge.h"

namespace ddp::train {
namespace {

// The output for a batch, and its loss, under the casts of the precision, as in training.
struct Answer {
  at::Tensor output;
  LossSum loss;
};

Answer answer(const Evaluator& e, const datasets::Batch& batch) {
  const model::Autocast casts(e.numerics.precision, e.device);
  const at::Tensor output = model::call(e.model.module(), e.numerics.prepared(on_device(batch.inputs, e.device)));
  return {.output = output, .loss = e.loss.measure(output, only_target(batch.targets), batch.samples())};
}

// A batch's row: how many samples, how much their targets count, the sum of their losses, then the parts of each
// metric. Counts and scores are added to the statistics, and stay there.
std::vector<double> measure(const Evaluator& e, const datasets::Batch& batch, std::vector<Statistics>& statistics) {
  std::vector<double> row{0, 0, 0};
  if (batch.samples() > 0) {  // else no image of the batch decodes
    const auto [output, loss] = answer(e, batch);
    row = {static_cast<double>(loss.samples), loss.weight, loss.sum};
    e.measures.add(output, only_target(batch.targets).to(output.device()), statistics);
  }
  for (Statistics& one : statistics) Merge::take_parts(one, row);
  return row;
}

BatchRows measure_share(const Evaluator& e, std::vector<Statistics>& statistics) {
  data::EvaluationBatches batches(e.set);
  BatchRows rows;
  for (std::int64_t left = e.set.own_batches(); left > 0; --left) {
    rows.push_back(measure(e, batches.next(), statistics));
    e.batch_done();
  }
  return rows;
}

// Gives the parts in the rows to the statistics, in the order of batches. Returns the mean loss.
double take_rows(const BatchRows& rows, std::vector<Statistics>& statistics) {
  LossSum loss;
  for (const std::vector<double>& row : rows) {
    loss.add({.sum = row[2], .weight = row[1], .samples = static_cast<std::int64_t>(row[0])});
    const double* next = row.data() + 3;
    for (Statistics& one : statistics) Merge::give_parts(next, one);
  }
  return loss.mean();
}

config::Value matrix_of(const std::vector<std::int64_t>& counts) {
  config::Value rows = config::Value::array();
  const auto size = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(counts.size()))));
  for (std::size_t row = 0; row < size; ++row) {
    rows.push_back(std::vector<std::int64_t>(counts.begin() + row * size, counts.begin() + (row + 1) * size));
  }
  return rows;
}

Measured values_of(const Measures& measures, const std::vector<Statistics>& statistics, double loss) {
  Measured measured{.values = {{.name = "loss", .value = loss}}, .matrices = config::Value::object()};
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    const Measures::Named& one = measures.metrics()[i];
    const bool empty = statistics[i].empty();
    if (one.matrix) {
      if (!empty) measured.matrices[one.name] = matrix_of(statistics[i].counts());
    } else if (measures.given() || !empty) {
      const double value = empty ? std::numeric_limits<double>::quiet_NaN() : one.metric->value(statistics[i]);
      measured.values.push_back({.name = one.name, .value = value});
    }
  }
  return measured;
}

}  // namespace

Measured evaluate(const Evaluator& e) {
  const at::NoGradGuard no_grad;
  std::vector<Statistics> statistics(e.measures.metrics().size());
  e.model.broadcast_buffers();
  auto module = e.model.module().ptr();
  module->eval();
  const BatchRows own = measure_share(e, statistics);
  module->train();
  const double loss = take_rows(rows_of_all_ranks(e.group, own), statistics);
  const Merge merge(e.group);
  merge.left_out(statistics);
  merge.counts(statistics);
  merge.pairs(statistics);
  return values_of(e.measures, statistics, loss);
}

}  // namespace ddp::train
