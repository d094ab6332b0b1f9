#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dist/collectives.h"

namespace torch {
class Library;
}

namespace ddp::dist {

// Batch norms whose statistics are those of all ranks' batches, as torch.nn.SyncBatchNorm has them: of any model,
// because its object takes the place of the operator aten::batch_norm. If a rank computes several logical ranks, it
// does so in Turns, and each of them counts as a rank. What they give is combined as a balanced binary tree, neighbours
// first, in float64: a result depends on the logical ranks alone, not on the ranks that compute them. At most one
// object exists at a time.
class SyncedNorms {
 public:
  // `group`: of all ranks; null: this process is the only one.
  explicit SyncedNorms(Group group);
  ~SyncedNorms();
  SyncedNorms(const SyncedNorms&) = delete;
  SyncedNorms& operator=(const SyncedNorms&) = delete;

  // The number of forward passes of batch norms that were synchronised.
  std::int64_t calls() const { return calls_; }

  // Batch norms in training mode that this thread calls in its lifetime are synchronised; their backward passes may
  // come later. Both are collective. Null: batch norms are the usual ones.
  class Use {
   public:
    explicit Use(SyncedNorms* norms);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    SyncedNorms* const outer_;
  };

 private:
  // The kernel of aten::batch_norm.
  static at::Tensor normalise(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                              const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& running_mean,
                              const std::optional<at::Tensor>& running_var, bool training, double momentum, double eps,
                              bool cudnn_enabled);

  const Group group_;
  std::int64_t calls_ = 0;
  std::vector<std::unique_ptr<torch::Library>> kernels_;
};

}  // namespace ddp::dist
