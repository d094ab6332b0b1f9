#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "datasets/dataset.h"

namespace ddp::data {

// Threads that fetch batches begin, begin + 1, …, end - 1 ahead of the training thread, which receives them in this
// order. At most two batches for each thread are ahead, as in Python's DataLoader (prefetch_factor = 2).
class Prefetch {
 public:
  using Fetch = std::function<datasets::Batch(std::int64_t index)>;

  // `fetch` is called from several threads at once. Throws std::system_error if a thread cannot start.
  Prefetch(std::int64_t threads, std::int64_t begin, std::int64_t end, Fetch fetch);

  // Returns the next batch; rethrows an exception of its fetch.
  datasets::Batch next();

 private:
  struct Result {
    datasets::Batch batch;
    std::exception_ptr failure;
  };
  void work(const std::stop_token& stop);

  const Fetch fetch_;
  const std::int64_t end_;
  const std::int64_t ahead_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable_any changed_;
  std::int64_t to_fetch_;
  std::int64_t to_give_;
  std::map<std::int64_t, Result> ready_;
  std::vector<std::jthread> threads_;  // last, because the threads use the members above
};

}  // namespace ddp::data
