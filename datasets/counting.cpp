#include <algorithm>

#include <ATen/ops/empty.h>

#include "datasets/dataset.h"

namespace ddp::datasets {
namespace {

struct CountingOptions {
  std::int64_t size = 1 << 20;
  std::int64_t features = 32;
  std::int64_t classes = 10;
  void fields(config::Fields& f) {
    f({.name = "size", .doc = "number of samples", .range = config::at_least(1)}, size);
    f({.name = "features", .doc = "values of a sample", .range = config::at_least(1)}, features);
    f({.name = "classes", .doc = "number of classes", .range = config::at_least(1)}, classes);
  }
};

// Sample i consists of the number i, so no samples are stored: gather() computes the batch.
class Counting : public MapDataset {
 public:
  explicit Counting(const CountingOptions& o) : o_(o) {}

  std::int64_t size() const override { return o_.size; }
  config::Value facts() const override { return {{"num_classes", o_.classes}}; }

  Batch gather(const at::Tensor& indices, std::int64_t) const override {
    const std::int64_t samples = indices.size(0);
    at::Tensor inputs = at::empty({samples, o_.features}, at::kFloat);
    at::Tensor targets = at::empty({samples}, at::kLong);
    const std::int64_t* number = indices.const_data_ptr<std::int64_t>();
    float* value = inputs.mutable_data_ptr<float>();
    std::int64_t* target = targets.mutable_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < samples; ++i) {
      value = std::fill_n(value, o_.features, static_cast<float>(number[i]));
      target[i] = number[i] % o_.classes;
    }
    return {inputs, targets};
  }

 private:
  const CountingOptions o_;
};

const bool counting_registered = registry().add<CountingOptions>(
    "counting", "ToyData of the HPC tutorial: sample i is the number i, features times; its class is i % classes",
    config::made<Counting>, {{"loss", "cross_entropy"}});

}  // namespace
}  // namespace ddp::datasets
