#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/registry.h"
#include "datasets/batch.h"
#include "datasets/draws.h"
#include "datasets/place.h"
#include "datasets/transform/told.h"

// Ways to mix the images and labels of a micro-batch, which register themselves: the option `mix` of a dataset of
// images.
namespace ddp::datasets {

class Mix {
 public:
  virtual ~Mix() = default;
  // Mixes each image with the one before it in the batch, and its label with that one's. `images`: float32
  // [n, c, h, w]; `labels`: float32 [n, classes]. Both are changed. It tells what it draws by the names of v2's
  // make_params. Used by several threads at once.
  virtual void apply(at::Tensor& images, at::Tensor& labels, Draws& draws, const Told& told) const = 0;
};

using MixRegistry = config::Registry<std::unique_ptr<Mix>>;
MixRegistry& mixes();

// The option `mix`, whose value is a list of {"type": …}.
config::Option mix_option();

// The list `mix` of a dataset: one of its entries, each equally likely, mixes a micro-batch.
class Mixer {
 public:
  // `list`: the option's value. `seed`: of the run.
  Mixer(const config::Value& list, std::uint64_t seed);

  bool mixes() const { return !entries_.empty(); }
  // Mixes a batch of images whose targets are classes (int64 [n], below `classes`); they become shares of classes,
  // float32 [n, classes]. Without entries the batch stays as it is. Depends on the seed and the place alone. `told`
  // hears of the type that was drawn, and what that one draws.
  void mix(Batch& batch, const Place& place, std::int64_t classes, const Told& told = {}) const;

 private:
  std::uint64_t seed_;
  struct Entry {
    std::string type;
    std::unique_ptr<Mix> mix;
  };
  std::vector<Entry> entries_;
};

// Returns share * rows + (1 - share) * the row before each, in v2's order of operations; the last row is before the
// first.
at::Tensor with_previous(const at::Tensor& rows, double share);

// Returns a number of [0, 1] of the distribution Beta(alpha, alpha), alpha > 0, from two gamma variates (Marsaglia and
// Tsang 2000).
double draw_beta(double alpha, Draws& draws);

}  // namespace ddp::datasets
