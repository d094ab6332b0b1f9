#include <ATen/ops/randn.h>

#include "base/error.h"
#include "datasets/dataset.h"

namespace ddp::datasets {
namespace {

struct RandomBatchOptions {
  std::int64_t inputs = 10;
  std::int64_t targets = 5;
  std::int64_t keep = 0;
  void fields(config::Fields& f) {
    f({.name = "inputs", .doc = "values of a sample", .range = config::at_least(1)}, inputs);
    f({.name = "targets", .doc = "values to predict", .range = config::at_least(1)}, targets);
    f({.name = "keep",
       .doc = "number of samples drawn at the start, which every batch repeats; 0: each batch draws new samples",
       .range = config::at_least(0)},
      keep);
  }
};

class RandomBatch : public DrawnDataset {
 public:
  explicit RandomBatch(const RandomBatchOptions& o) : options_(o) {
    if (o.keep > 0) kept_ = draw_samples(o.keep);
  }

  Batch draw(std::int64_t batch_size, const MicroBatchPosition&) const override {
    if (options_.keep == 0) return draw_samples(batch_size);
    if (batch_size == options_.keep) return kept_;
    if (batch_size < options_.keep) return kept_.first(batch_size);
    throw usage_error(
        "keeps " + std::to_string(options_.keep) + " samples, fewer than a batch of " + std::to_string(batch_size),
        "dataset.keep", "keep at least batch_size samples");
  }

 private:
  Batch draw_samples(std::int64_t count) const {
    at::Tensor inputs = at::randn({count, options_.inputs});
    at::Tensor targets = at::randn({count, options_.targets});
    return {inputs, targets};
  }

  RandomBatchOptions options_;
  Batch kept_;
};

const bool random_batch_registered = registry().add<RandomBatchOptions>(
    "random_batch", "the DDP tutorial's random batches: each is randn(batch, inputs), randn(batch, targets)",
    config::made<RandomBatch>, {{"loss", "mse"}, {"needs", "steps"}});

}  // namespace
}  // namespace ddp::datasets
