#include "train/evaluate.h"

#include <algorithm>
#include <limits>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <torch/nn/module.h>

namespace ddp::train {
namespace {

struct Sums {
  double loss = 0;
  double correct = 0;
  double samples = 0;
  bool classes = true;
};

Sums measure_share(dist::DistributedModel& model, const Loss& loss, const Holdout& h,
                   const std::function<void()>& batch_done) {
  Sums sums;
  const std::int64_t count = h.samples.size(0);
  const at::Tensor mine =
      h.rank < count ? h.samples.slice(0, h.rank, count, h.world_size).contiguous() : h.samples.narrow(0, 0, 0);
  for (std::int64_t begin = 0; begin < mine.size(0); begin += h.batch_size) {
    const std::int64_t n = std::min(h.batch_size, mine.size(0) - begin);
    const datasets::Batch batch = h.dataset->gather(mine.narrow(0, begin, n));
    const at::Tensor output = model.module().forward(batch.inputs.to(h.device));
    const at::Tensor target = batch.targets.to(output.device());
    sums.loss += loss(output, target).item<double>() * static_cast<double>(n);
    sums.samples += static_cast<double>(n);
    sums.classes = !target.is_floating_point() && output.dim() == 2;
    if (sums.classes) sums.correct += output.argmax(1).eq(target).sum().item<double>();
    batch_done();
  }
  return sums;
}

}  // namespace

Evaluation evaluate(dist::DistributedModel& model, const dist::Group& group, const Loss& loss, const Holdout& holdout,
                    const std::function<void()>& batch_done) {
  const at::NoGradGuard no_grad;
  model.broadcast_buffers();
  auto module = model.module().ptr();
  module->eval();
  const Sums mine = measure_share(model, loss, holdout, batch_done);
  module->train();

  Sums all;
  const at::Tensor sums = at::tensor({mine.loss, mine.correct, mine.samples, mine.classes ? 1.0 : 0.0}, at::kDouble);
  for (const auto& rank : dist::all_gather(group, sums)) {
    const double* values = rank.const_data_ptr<double>();
    all.loss += values[0];
    all.correct += values[1];
    all.samples += values[2];
    all.classes = all.classes && values[3] != 0;
  }
  return {.loss = all.loss / all.samples,
          .accuracy = all.classes ? all.correct / all.samples : std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace ddp::train
