// Times parts of a recipe alone, on two ranks with one thread each: the time that they add to a step or a validation.
//
//   bench_recipe clip|ema|metrics COUNT
//
// Rank 0 prints the seconds of one call, as recipe_peer.py does: clipping 200 small gradients by their norm; an update
// of the averaged weights of a 400 MB model; accuracy, F1 and AUROC of a million outputs in batches of 1000.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <torch/nn/module.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "dist/parallel/parallel.h"
#include "models/model.h"
#include "ranks.h"
#include "train/gradients.h"
#include "train/metrics/measures.h"
#include "train/metrics/merge.h"
#include "train/optim/ema.h"

namespace {

using ddp::config::Value;
using Call = std::function<void()>;

constexpr int kRanks = 2;
constexpr std::int64_t kSamples = 1'000'000;
constexpr std::int64_t kBatch = 1000;

Call clip(const ddp::dist::Group&) {
  std::vector<at::Tensor> gradients;
  for (int layer = 0; layer < 100; ++layer) {
    gradients.push_back(at::randn({16, 16}));
    gradients.push_back(at::randn({16}));
  }
  ddp::config::Clip options;
  options.norm = 1.0;
  return [gradients, clip = ddp::train::Clip(options)] { clip(gradients); };
}

Call ema(const ddp::dist::Group& group) {
  const Value sizes{{"in_features", 5000}, {"hidden", {5000, 5000, 5000}}, {"out_features", 5000}};
  const std::shared_ptr<ddp::dist::Parallel> model = ddp::dist::parallels().build(
      "ddp", Value::object(),
      {.module = ddp::models::registry().build("mlp", sizes, {}), .group = group, .devices = {}, .options = {}});
  model->start({});
  ddp::config::Ema options;
  options.decay = 0.999;
  options.every = 1;
  const auto average = std::make_shared<ddp::train::Ema>(options, *model, group);
  return [model, average, step = std::int64_t{0}]() mutable { average->step_done(++step); };
}

Call metrics(const ddp::dist::Group& group) {
  ddp::config::Experiment experiment;
  experiment.loss.name = "cross_entropy";
  experiment.metrics = {"accuracy", "f1_macro", "auroc"};
  const auto measures = std::make_shared<ddp::train::Measures>(experiment);
  const at::Tensor outputs = at::randn({kSamples / kRanks, 2});
  const at::Tensor noise = at::randn({kSamples / kRanks});
  const at::Tensor classes = (outputs.select(1, 1) - outputs.select(1, 0) + noise).gt(0).to(at::kLong);
  return [=] {
    std::vector<ddp::train::Statistics> statistics(measures->metrics().size());
    for (std::int64_t row = 0; row < kSamples / kRanks; row += kBatch) {
      const ddp::train::Answers answers{.output = outputs.narrow(0, row, kBatch),
                                        .target = classes.narrow(0, row, kBatch)};
      measures->add(answers, {}, {}, statistics);
    }
    const ddp::train::Merge merge(group);
    merge.counts(statistics);
    merge.rankings(statistics);
    for (std::size_t i = 0; i < statistics.size(); ++i) measures->metrics()[i].metric->value(statistics[i]);
  };
}

void time_calls(int rank, const Call& call, int count, const ddp::dist::Group& group) {
  call();
  ddp::dist::barrier(group);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) call();
  ddp::dist::barrier(group);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (rank == 0) std::printf("%.9f\n", took.count() / count);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Call (*)(const ddp::dist::Group&)> parts{
      {"clip", clip}, {"ema", ema}, {"metrics", metrics}};
  if (argc != 3 || !parts.contains(argv[1])) return 2;
  return run_ranks(kRanks, "shm", [&](int rank, const ddp::dist::Group& group) {
    const at::NoGradGuard no_grad;
    time_calls(rank, parts.at(argv[1])(group), std::atoi(argv[2]), group);
  });
}
