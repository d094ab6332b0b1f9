#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/experiment.h"
#include "data/distributed_sampler.h"
#include "datasets/dataset.h"
#include "model/generators.h"

namespace ddp::data {

// Threads that fetch batches begin, begin + 1, …, end - 1 ahead of the training thread, which receives them in this
// order. At most two batches for each thread are ahead, as in Python's DataLoader (prefetch_factor = 2), or as many as
// wait() is called for.
class Prefetch {
 public:
  using Fetch = std::function<datasets::Batch(std::int64_t index)>;

  // `fetch` is called from several threads at once. Throws std::system_error if a thread cannot start.
  Prefetch(std::int64_t threads, std::int64_t begin, std::int64_t end, Fetch fetch, std::int64_t waits_for = 0);

  // Returns the next batch; rethrows an exception of its fetch.
  datasets::Batch next();
  // Waits for the next batches; returns the exception of a fetch, null: all are there.
  std::exception_ptr wait(std::int64_t count);

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

// The samples of an evaluation, in order, and this rank's share: batch b belongs to rank b mod world_size. Batches do
// not depend on the world size, so sums over batches do not either.
struct EvaluationSet {
  const datasets::MapDataset* dataset = nullptr;
  at::Tensor samples;  // int64 [n]
  std::int64_t batch_size = 32;
  int rank = 0;
  int world_size = 1;
  std::int64_t workers = 0;  // threads that fetch ahead

  // The number of batches of all ranks; the last batch may be shorter.
  std::int64_t batches() const { return (samples.size(0) + batch_size - 1) / batch_size; }
  // The number of batches of this rank.
  std::int64_t own_batches() const { return (batches() - rank + world_size - 1) / world_size; }
};

// One pass over this rank's batches of a set, which outlives it.
class EvaluationBatches {
 public:
  explicit EvaluationBatches(const EvaluationSet& set);
  ~EvaluationBatches();

  // Returns the next batch. May be called own_batches() times.
  datasets::Batch next();

 private:
  datasets::Batch gather(std::int64_t own_index) const;

  const EvaluationSet& set_;
  std::int64_t next_ = 0;
  std::unique_ptr<Prefetch> prefetch_;  // null: next() fetches each batch itself
};

// The micro-batches of a rank, epoch by epoch, in the order of Python's DataLoader.
class Batches {
 public:
  virtual ~Batches() = default;
  // The number of micro-batches of an epoch, or of its rest if all ranks together have seen `done` samples; 0:
  // unlimited.
  virtual std::int64_t per_epoch(std::int64_t done = 0) const = 0;
  // Makes the next call of next() return micro-batch `position` of the epoch, or of its rest. The first next() of a new
  // epoch draws one number from the global generator, as the creation of a DataLoader iterator does in Python; a run
  // that ends before it, because its data do not come, saves the generator as it was. `last`: no other epoch follows.
  virtual void start_epoch(std::int64_t epoch, std::int64_t position, std::int64_t done, bool last) = 0;
  // Announces that the next call of next() returns the first micro-batch of this step of the run. Must be called before
  // the first next() of an epoch if the content of a micro-batch depends on its place in the run.
  virtual void start_step(std::int64_t step) { static_cast<void>(step); }
  // Makes next() return micro-batches of a logical rank of this rank, counted from 0, and its generators the default
  // ones.
  virtual void choose(int logical) { static_cast<void>(logical); }
  virtual datasets::Batch next() = 0;
  // Waits for the next micro-batches of a stream; returns the exception that kept one away, null: all are there.
  virtual std::exception_ptr wait(std::int64_t micro_batches) {
    static_cast<void>(micro_batches);
    return nullptr;
  }
};

struct Sharding {
  int rank = 0;
  int world_size = 1;
  std::int64_t batch_size = 32;
  bool pin_memory = false;      // use page-locked memory, from which a GPU copies asynchronously
  std::int64_t accumulate = 1;  // number of micro-batches in a step
};

// Makes the batches of a dataset's training samples, or of generated samples if the dataset has none. The dataset and
// the generators must outlive them. `generators`: of the logical ranks of this rank; null: it is one.
std::unique_ptr<Batches> make_batches(const datasets::Dataset& dataset, const at::Tensor& train_samples,
                                      const Sharding& sharding, const config::Loader& options,
                                      model::Generators* generators = nullptr);

}  // namespace ddp::data
