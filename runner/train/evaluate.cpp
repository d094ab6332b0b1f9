#include "train/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include "model/call.h"
#include "train/batch_rows.h"

namespace ddp::train {
namespace {

// The places of a row.
enum Place { kSamples, kLoss, kCorrect, kHasClasses, kPlaces };

std::vector<double> measure(const Evaluator& e, const datasets::Batch& batch) {
  const at::Tensor output = model::call(e.model.module(), on_device(batch.inputs, e.device));
  const at::Tensor target = only_target(batch.targets).to(output.device());
  const auto samples = static_cast<double>(batch.samples());
  std::vector<double> row(kPlaces, 0);
  row[kSamples] = samples;
  row[kLoss] = e.loss(output, target).item<double>() * samples;
  if (!target.is_floating_point() && output.dim() == 2) {
    row[kCorrect] = output.argmax(1).eq(target).sum().item<double>();
    row[kHasClasses] = 1;
  }
  return row;
}

BatchRows measure_share(const Evaluator& e) {
  data::EvaluationBatches batches(e.set);
  BatchRows rows;
  for (std::int64_t left = e.set.own_batches(); left > 0; --left) {
    rows.push_back(measure(e, batches.next()));
    e.batch_done();
  }
  return rows;
}

}  // namespace

Evaluation evaluate(const Evaluator& e) {
  const at::NoGradGuard no_grad;
  e.model.broadcast_buffers();
  auto module = e.model.module().ptr();
  module->eval();
  const BatchRows own = measure_share(e);
  module->train();

  std::vector<double> sums(kPlaces, 0);
  bool classes = true;
  for (const auto& row : rows_of_all_ranks(e.group, own)) {
    for (int place = 0; place < kPlaces; ++place) sums[place] += row[place];
    classes = classes && row[kHasClasses] != 0;
  }
  Evaluation evaluation{.loss = sums[kLoss] / sums[kSamples]};
  if (classes) evaluation.accuracy = sums[kCorrect] / sums[kSamples];
  return evaluation;
}

}  // namespace ddp::train
