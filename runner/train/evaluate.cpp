#include "train/evaluate.h"

#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <torch/nn/module.h>

#include "model/call.h"
#include "train/batch_rows.h"
#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

struct Answer {
  at::Tensor output;
  at::Tensor target;
  at::Tensor loss;
};

// Under the casts of the precision, as in training.
Answer forward(const Evaluator& e, const datasets::Batch& batch) {
  const model::Autocast casts(e.numerics.precision, e.device);
  const at::Tensor output = model::call(e.model.module(), e.numerics.prepared(on_device(batch.inputs, e.device)));
  const at::Tensor target = only_target(batch.targets).to(output.device());
  return {.output = output, .target = target, .loss = e.loss(output, target)};
}

// A batch's row: how many samples, the sum of their losses, then of each metric how long its part is, and the part.
std::vector<double> measure(const Evaluator& e, const NamedMetrics& metrics, const datasets::Batch& batch) {
  // No image of the batch decodes.
  if (batch.samples() == 0) return std::vector<double>(2 + metrics.size(), 0.0);
  const auto [output, target, loss] = forward(e, batch);
  const auto samples = static_cast<double>(batch.samples());
  std::vector<double> row{samples, loss.item<double>() * samples};
  for (const auto& [name, metric] : metrics) {
    const at::Tensor part = metric->of_batch(output, target).cpu().contiguous();
    row.push_back(static_cast<double>(part.numel()));
    row.insert(row.end(), part.const_data_ptr<double>(), part.const_data_ptr<double>() + part.numel());
  }
  return row;
}

BatchRows measure_share(const Evaluator& e, const NamedMetrics& metrics) {
  data::EvaluationBatches batches(e.set);
  BatchRows rows;
  for (std::int64_t left = e.set.own_batches(); left > 0; --left) {
    rows.push_back(measure(e, metrics, batches.next()));
    e.batch_done();
  }
  return rows;
}

record::MetricValues values_of(const BatchRows& rows, const NamedMetrics& metrics) {
  double samples = 0;
  double loss = 0;
  std::vector<std::vector<at::Tensor>> parts(metrics.size());
  for (const std::vector<double>& row : rows) {
    if (row[0] == 0) continue;
    samples += row[0];
    loss += row[1];
    std::size_t place = 2;
    for (auto& of_metric : parts) {
      const auto size = static_cast<std::size_t>(row[place++]);
      of_metric.push_back(at::tensor(at::ArrayRef<double>(row.data() + place, size), at::kDouble));
      place += size;
    }
  }
  record::MetricValues values{{.name = "loss", .value = loss / samples}};
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    values.push_back({.name = metrics[i].first, .value = metrics[i].second->value(parts[i])});
  }
  std::erase_if(values, [](const record::MetricValue& one) { return std::isnan(one.value); });
  return values;
}

}  // namespace

record::MetricValues evaluate(const Evaluator& e) {
  const at::NoGradGuard no_grad;
  const NamedMetrics metrics = all_metrics();
  e.model.broadcast_buffers();
  auto module = e.model.module().ptr();
  module->eval();
  const BatchRows own = measure_share(e, metrics);
  module->train();
  return values_of(rows_of_all_ranks(e.group, own), metrics);
}

}  // namespace ddp::train
