#include <ATen/ops/rand.h>

#include "datasets/in_memory.h"

namespace ddp::datasets {
namespace {

struct RandomPairsOptions {
  std::int64_t size = 2048;
  std::int64_t features = 20;
  std::int64_t targets = 1;
  void fields(config::Fields& f) {
    f({.name = "size", .doc = "number of samples", .range = config::at_least(1)}, size);
    f({.name = "features", .doc = "values of a sample", .range = config::at_least(1)}, features);
    f({.name = "targets", .doc = "values to predict", .range = config::at_least(1)}, targets);
  }
};

// torch.rand draws value after value, so one call for all samples draws the same values as the tutorial's
// MyTrainDataset, which calls rand(features) and rand(targets) for each sample.
std::unique_ptr<Dataset> make(const RandomPairsOptions& o, const Context&) {
  const at::Tensor values = at::rand({o.size, o.features + o.targets});
  return std::make_unique<InMemory>(values.narrow(1, 0, o.features).contiguous(),
                                    values.narrow(1, o.features, o.targets).contiguous());
}

const bool random_pairs_registered = registry().add<RandomPairsOptions>(
    "random_pairs", "MyTrainDataset of PyTorch's DDP series: rand(features), rand(targets) for each sample", make,
    {{"loss", "mse"}});

}  // namespace
}  // namespace ddp::datasets
