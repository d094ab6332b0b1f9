// Times the way from images to batches, for bench/images.py.
//
//   bench_images loader DATASET BATCH WORKERS EPOCHS   epochs through the loader, after one that is not measured
//   bench_images decode THREADS ROUNDS FILE...         decodes whole files from memory: the limit of `loader`
//
// DATASET is a JSON object of the options and the name. Prints a JSON object: "rate", images a second, and with
// `loader` the "shape" of a batch.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <nlohmann/json.hpp>

#include "base/heap.h"
#include "data/batches.h"
#include "datasets/dataset.h"
#include "format/image.h"

namespace {

using ddp::config::Value;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Freed batches stay in the process, as in a rank (base/heap.h).
int time_loader(const char* text, std::int64_t batch_size, std::int64_t workers, int epochs) {
  at::set_num_threads(1);
  ddp::keep_freed_memory();
  Value options = Value::parse(text);
  const std::string name = options.at("name");
  options.erase("name");
  const auto dataset = ddp::datasets::registry().build(name, options, {.loss = "cross_entropy"});
  const auto& images = dynamic_cast<const ddp::datasets::MapDataset&>(*dataset);
  const auto batches = ddp::data::make_batches(*dataset, at::arange(images.size(), at::kLong),
                                               {.batch_size = batch_size}, {.workers = workers});
  at::Tensor last;
  std::int64_t count = 0;
  Clock::time_point start;
  for (int epoch = 0; epoch <= epochs; ++epoch) {
    if (epoch == 1) start = Clock::now();
    batches->start_epoch(epoch, 0, 0, epoch == epochs);
    for (std::int64_t i = batches->per_epoch(); i > 0; --i) {
      last = batches->next().inputs.front().second;
      if (epoch > 0) count += last.size(0);
    }
  }
  const double rate = static_cast<double>(count) / seconds_since(start);
  std::printf("%s\n", Value{{"rate", rate}, {"shape", last.sizes().vec()}}.dump().c_str());
  return 0;
}

std::string content_of(const char* file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

int time_decoder(int threads, int rounds, const std::vector<std::string>& files) {
  std::atomic<std::size_t> next = 0;
  const std::size_t all = files.size() * static_cast<std::size_t>(rounds);
  const auto work = [&] {
    std::vector<std::uint8_t> pixels;
    for (std::size_t i = next++; i < all; i = next++) {
      const std::string& file = files[i % files.size()];
      const auto image = ddp::format::open_image(std::as_bytes(std::span(file)), "image");
      const ddp::format::ImageSize size = image->size();
      pixels.resize(static_cast<std::size_t>(3 * size.height * size.width));
      image->decode({.height = size.height, .width = size.width}, pixels.data());
    }
  };
  const auto start = Clock::now();
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) workers.emplace_back(work);
  }
  std::printf("%s\n", Value{{"rate", static_cast<double>(all) / seconds_since(start)}}.dump().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "loader" && argc == 6) {
    return time_loader(argv[2], std::atol(argv[3]), std::atol(argv[4]), std::atoi(argv[5]));
  }
  if (what == "decode" && argc > 4) {
    std::vector<std::string> files;
    for (int i = 4; i < argc; ++i) files.push_back(content_of(argv[i]));
    return time_decoder(std::atoi(argv[2]), std::atoi(argv[3]), files);
  }
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
