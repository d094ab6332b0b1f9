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

// A batch's row: how many samples, how much their targets count, the sum of their losses, then of each metric how long
// its part is, and the part.
std::vector<double> measure(const Evaluator& e, const NamedMetrics& metrics, const datasets::Batch& batch) {
  // No image of the batch decodes.
  if (batch.samples() == 0) return std::vector<double>(3 + metrics.size(), 0.0);
  const at::Tensor output = model::call(e.model.module(), on_device(batch.inputs, e.device));
  const LossSum loss = e.loss.measure(output, only_target(batch.targets), batch.samples());
  const at::Tensor target = only_target(batch.targets).to(output.device());
  std::vector<double> row{static_cast<double>(loss.samples), loss.weight, loss.sum};
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
  LossSum loss;
  std::vector<std::vector<at::Tensor>> parts(metrics.size());
  for (const std::vector<double>& row : rows) {
    if (row[0] == 0) continue;
    loss.add({.sum = row[2], .weight = row[1]});
    std::size_t place = 3;
    for (auto& of_metric : parts) {
      const auto size = static_cast<std::size_t>(row[place++]);
      of_metric.push_back(at::tensor(at::ArrayRef<double>(row.data() + place, size), at::kDouble));
      place += size;
    }
  }
  record::MetricValues values{{.name = "loss", .value = loss.mean()}};
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
