// Times reading a checkpoint into a model and its optimizer, for bench/restore.py.
//
//   bench_restore CHECKPOINT WIDTH   of the experiment "big" of bench/sides.py, with layers of this width
//
// Prints the seconds from the folder to the restored state of both, which exist before. Checksums are compared on the
// way.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <ATen/Parallel.h>
#include <torch/nn/module.h>

#include "checkpoint/store.h"
#include "config/experiment.h"
#include "model/weights.h"
#include "models/model.h"
#include "train/optim/grouped_optimizer.h"

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  const std::int64_t width = std::atol(argv[2]);
  at::set_num_threads(1);
  using ddp::config::Value;
  const Value options = {{"in_features", width}, {"hidden", {width, width, width}}, {"out_features", width}};
  const auto model = ddp::models::registry().build("mlp", options, {}).ptr();
  ddp::config::Experiment e;
  e.optimizer = {.name = "adamw", .options = {{"lr", 1e-3}}};
  ddp::NamedTensors parameters;
  for (const auto& one : model->named_parameters()) parameters.emplace_back(one.key(), one.value());
  ddp::train::GroupedOptimizer optimizer(e, parameters);
  const auto start = std::chrono::steady_clock::now();
  const auto saved = ddp::checkpoint::load(argv[1]);
  ddp::model::load_weights(saved.of(ddp::checkpoint::kModel), *model, argv[1]);
  optimizer.load(saved.of(ddp::checkpoint::kOptimizer));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%.4f\n", took.count());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
