#pragma once

#include <ATen/ops/index_select.h>

#include "datasets/dataset.h"

namespace ddp::datasets {

// Two contiguous tensors [n, …] and [n, …] that hold all samples.
class InMemory : public MapDataset {
 public:
  InMemory(at::Tensor inputs, at::Tensor targets) : inputs_(std::move(inputs)), targets_(std::move(targets)) {}

  std::int64_t size() const override { return inputs_.size(0); }
  bool in_memory() const override { return true; }
  Batch gather(const at::Tensor& indices, std::int64_t) const override {
    return {at::index_select(inputs_, 0, indices), at::index_select(targets_, 0, indices)};
  }

 private:
  at::Tensor inputs_;
  at::Tensor targets_;
};

}  // namespace ddp::datasets
