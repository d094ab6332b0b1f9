// Times how fast a rank gets its batches, for bench/loader.py.
//
//   bench_loader DATASET BATCH_SIZE WORKERS SECONDS
//
// Prints samples a second of rank 0 of 2, in shuffled epochs of the dataset with its default options.

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>

#include "data/batches.h"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  at::set_num_threads(1);
  const auto dataset = ddp::datasets::registry().build(argv[1], ddp::config::Value::object(), {});
  const std::int64_t size = dynamic_cast<const ddp::datasets::MapDataset&>(*dataset).size();
  ddp::config::Loader options;
  options.workers = std::atol(argv[3]);
  const auto batches = ddp::data::make_batches(*dataset, at::arange(size, at::kLong),
                                               {.world_size = 2, .batch_size = std::atol(argv[2])}, options);
  std::int64_t samples = 0;
  const auto start = std::chrono::steady_clock::now();
  std::chrono::duration<double> took{};
  for (std::int64_t epoch = 0; took.count() < std::atof(argv[4]); ++epoch) {
    batches->start_epoch(epoch, 0, 0, /*last=*/false);
    for (std::int64_t i = batches->per_epoch(); i > 0; --i) samples += batches->next().samples();
    took = std::chrono::steady_clock::now() - start;
  }
  std::printf("%.1f\n", static_cast<double>(samples) / took.count());
  return 0;
}
