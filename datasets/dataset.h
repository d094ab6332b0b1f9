#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

#include "config/registry.h"
#include "datasets/batch.h"
#include "datasets/context.h"

// The contract of a dataset. A dataset is one file in this folder: a class, a struct with its options, and one call of
// registry().add with a function of its options and the context; its traits name the loss that fits its targets.
namespace ddp::datasets {

class Dataset {
 public:
  virtual ~Dataset() = default;
};

// Samples that can be asked for by index.
class MapDataset : public Dataset {
 public:
  virtual std::int64_t size() const = 0;
  // Returns the samples at `indices` (int64 [n], each in [0, size)), as fresh contiguous tensors that start at a
  // 64-byte boundary, as stacked ones do: MKL's sums depend on it. Safe from several threads. Random numbers come from
  // Draws(seed of the context, epoch, index of the sample), never from the global generator.
  virtual Batch gather(const at::Tensor& indices, std::int64_t epoch) const = 0;
  // Is a gather no more than a copy in memory? Then no thread fetches ahead: handing over would cost more.
  virtual bool in_memory() const { return false; }
};

// Samples without end and without order: each batch is drawn from the global generator.
class DrawnDataset : public Dataset {
 public:
  virtual Batch draw(std::int64_t batch_size) const = 0;
};

using Registry = config::Registry<std::unique_ptr<Dataset>, const Context&>;
Registry& registry();

}  // namespace ddp::datasets
