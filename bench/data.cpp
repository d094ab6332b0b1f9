// Times a dataset alone, built as a rank builds it, for bench/data_tables.py and bench/data_tokens.py.
//
//   bench_data table DATASET LOSS THREADS    builds a table and fits it on all of its rows
//   bench_data tokens DATASET BATCH SECONDS  draws batches, on one thread
//   bench_data copy BATCH BLOCK SECONDS      copies as many bytes as such batches have: the limit of `tokens`
//
// DATASET is a JSON object of the options and the name. The output is a JSON object. `table` prints "seconds" and "cpu"
// (user and system) of building the table, "rows", "columns" and "check", the sum of the middle row. `tokens` and
// `copy` print "rate", tokens a second.

#include <sys/resource.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/ops/arange.h>
#include <nlohmann/json.hpp>

#include "data/batches.h"
#include "datasets/dataset.h"

namespace {

using ddp::config::Value;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

std::unique_ptr<ddp::datasets::Dataset> build(const char* text, const char* loss) {
  Value options = Value::parse(text);
  const std::string name = options.at("name");
  options.erase("name");
  return ddp::datasets::registry().build(name, options, {.loss = loss});
}

int time_table(const char* options, const char* loss, int threads) {
  at::set_num_threads(threads);
  const double cpu = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  const auto dataset = build(options, loss);
  auto& table = dynamic_cast<ddp::datasets::MapDataset&>(*dataset);
  table.fit(at::arange(table.size(), at::kLong));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const double used = cpu_seconds() - cpu;
  const at::Tensor inputs = table.held().at(0).second;
  const Value result = {{"seconds", took.count()},
                        {"cpu", used},
                        {"rows", inputs.size(0)},
                        {"columns", inputs.size(1)},
                        {"check", inputs[inputs.size(0) / 2].sum().item<double>()}};
  std::printf("%s\n", result.dump().c_str());
  return 0;
}

// Repeats `call` for at least `seconds`, and prints the work per second; one call does `work`.
int print_rate(double work, double seconds, const std::function<void(std::int64_t)>& call) {
  std::int64_t calls = 0;
  const auto start = std::chrono::steady_clock::now();
  std::chrono::duration<double> took{};
  while (took.count() < seconds) {
    for (int i = 0; i < 20; ++i) call(calls++);
    took = std::chrono::steady_clock::now() - start;
  }
  std::printf("%s\n", Value{{"rate", work * static_cast<double>(calls) / took.count()}}.dump().c_str());
  return 0;
}

int time_tokens(const char* options, std::int64_t batch_size, double seconds) {
  at::set_num_threads(1);
  const auto dataset = build(options, "cross_entropy");
  const auto batches = ddp::data::make_batches(*dataset, {}, {.batch_size = batch_size}, {});
  const auto tokens = static_cast<double>(batches->next().inputs.front().second.numel());
  return print_rate(tokens, seconds, [&](std::int64_t step) {
    batches->start_step(step);
    batches->next();
  });
}

// For each batch, reads the uint16 tokens of `batch_size` samples at random places of 1 GiB and writes the batch's
// int64 tokens.
int time_copy(std::int64_t batch_size, std::int64_t block_size, double seconds) {
  const std::vector<char> file(std::size_t{1} << 30, 1);
  const auto tokens = static_cast<std::size_t>(batch_size * block_size);
  std::vector<std::uint16_t> read(static_cast<std::size_t>(block_size + 1));
  const std::vector<std::int64_t> from(2 * tokens, 1);
  std::vector<std::int64_t> to(2 * tokens);
  at::philox_engine random(1);
  return print_rate(static_cast<double>(tokens), seconds, [&](std::int64_t) {
    for (std::int64_t i = 0; i < batch_size; ++i) {
      std::memcpy(read.data(), file.data() + random() % (file.size() - 2 * read.size()), 2 * read.size());
      asm volatile("" : : "r"(read.data()) : "memory");  // keeps the compiler from dropping the copies
    }
    std::memcpy(to.data(), from.data(), 8 * to.size());
    asm volatile("" : : "r"(to.data()) : "memory");
  });
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "table" && argc == 5) return time_table(argv[2], argv[3], std::atoi(argv[4]));
  if (what == "tokens" && argc == 5) return time_tokens(argv[2], std::atol(argv[3]), std::atof(argv[4]));
  if (what == "copy" && argc == 5) return time_copy(std::atol(argv[2]), std::atol(argv[3]), std::atof(argv[4]));
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
