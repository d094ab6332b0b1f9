#include <ATen/ops/empty.h>

#include "datasets/dataset.h"

namespace ddp::datasets {
namespace {

struct CountingOptions {
  std::int64_t size = 1 << 20;
  std::int64_t features = 32;
  std::int64_t classes = 10;
  void fields(config::Fields& f) {
    f({.name = "size", .doc = "samples", .range = config::at_least(1)}, size);
    f({.name = "features", .doc = "values of a sample", .range = config::at_least(1)}, features);
    f({.name = "classes", .doc = "classes", .range = config::at_least(1)}, classes);
  }
};

// Sample i is its own number, so none is kept: a batch is made when it is asked for.
class Counting : public MapDataset {
 public:
  explicit Counting(const CountingOptions& o) : o_(o) {}

  std::int64_t size() const override { return o_.size; }

  Batch gather(const at::Tensor& indices) const override {
    // expand() would give a view; a batch is a tensor of its own, as a stacked one is.
    at::Tensor inputs = indices.to(at::kFloat).unsqueeze(1).expand({indices.size(0), o_.features}).contiguous();
    return {inputs, indices.remainder(o_.classes)};
  }

 private:
  const CountingOptions o_;
};

const bool registered = registry().add<CountingOptions>(
    "counting", "ToyData of the HPC tutorial: sample i is the number i, features times; its class is i % classes",
    [](const CountingOptions& o) -> std::unique_ptr<Dataset> { return std::make_unique<Counting>(o); },
    {{"loss", "cross_entropy"}});

}  // namespace
}  // namespace ddp::datasets
