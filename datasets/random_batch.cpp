#include <ATen/ops/randn.h>

#include "datasets/dataset.h"

namespace ddp::datasets {
namespace {

struct RandomBatchOptions {
  std::int64_t inputs = 10;
  std::int64_t targets = 5;
  void fields(config::Fields& f) {
    f({.name = "inputs", .doc = "values of a sample", .range = config::at_least(1)}, inputs);
    f({.name = "targets", .doc = "values to predict", .range = config::at_least(1)}, targets);
  }
};

class RandomBatch : public DrawnDataset {
 public:
  explicit RandomBatch(const RandomBatchOptions& o) : options_(o) {}

  Batch draw(std::int64_t batch_size) const override {
    at::Tensor inputs = at::randn({batch_size, options_.inputs});
    at::Tensor targets = at::randn({batch_size, options_.targets});
    return {inputs, targets};
  }

 private:
  RandomBatchOptions options_;
};

const bool registered = registry().add<RandomBatchOptions>(
    "random_batch", "the DDP tutorial's random batches: randn(batch, inputs), randn(batch, targets) each time",
    [](const RandomBatchOptions& o) -> std::unique_ptr<Dataset> { return std::make_unique<RandomBatch>(o); },
    {{"loss", "mse"}, {"needs", "steps"}});

}  // namespace
}  // namespace ddp::datasets
