#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/registry.h"
#include "datasets/dataset.h"
#include "datasets/draws.h"

// Ways to mix the images and labels of a micro-batch: the option `mix` of image datasets. Each way registers itself.
namespace ddp::datasets {

class Mix {
 public:
  virtual ~Mix() = default;
  // Mixes each image with the previous image of the batch, and its label with the previous label. `images`: float32 [n,
  // c, h, w]; `labels`: float32 [n, classes]. Changes both. Reports the drawn values to `draw_log` under the names of
  // v2's make_params. Thread-safe.
  virtual void apply(at::Tensor& images, at::Tensor& labels, Draws& draws, const DrawLog& draw_log) const = 0;
};

using MixRegistry = config::Registry<std::unique_ptr<Mix>>;
MixRegistry& mixes();

// The option `mix`: a list of {"type": …}.
config::Option mix_option();

// The list `mix` of a dataset. Each micro-batch is mixed by one entry, drawn with equal probabilities.
class Mixer {
 public:
  // `list`: the option's value. `seed`: the run's seed.
  Mixer(const config::Value& list, std::uint64_t seed);

  bool mixes() const { return !entries_.empty(); }
  // Mixes a batch of images whose targets are classes (int64 [n], below `classes`); the targets become shares of
  // classes, float32 [n, classes]. Without entries the batch does not change. The draws depend only on the seed and the
  // place. `draw_log` receives the drawn type and the values that the type draws.
  void mix(Batch& batch, const MicroBatchPosition& place, std::int64_t classes, const DrawLog& draw_log = {}) const;

 private:
  std::uint64_t seed_;
  struct Entry {
    std::string type;
    std::unique_ptr<Mix> mix;
  };
  std::vector<Entry> entries_;
};

// Returns share * row + (1 - share) * previous row for each row, in v2's order of operations. The last row precedes the
// first.
at::Tensor with_previous(const at::Tensor& rows, double share);

// Returns a number in [0, 1] with the distribution Beta(alpha, alpha), alpha > 0, from two gamma variates (Marsaglia
// and Tsang 2000).
double draw_beta(double alpha, Draws& draws);

}  // namespace ddp::datasets
