#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"
#include "train/replay/player.h"
#include "train/replay/recorder.h"

namespace ddp::train {

// Begins the reason why what was recorded is not replayed; the first tensor that differs follows.
inline constexpr const char* kOtherBits = "the first replay had other bits than PyTorch's eager work: ";

// The first replay of a kind of batch, beside the eager work that it is to replace: from the same weights, buffers,
// gradients and random numbers, with its memory full of NaN. Two recordings that are alike prove that the same calls
// come again; only this proves that they compute the same.
class Comparison {
 public:
  // Runs the player on a batch. Then the batch, the buffers, the gradients of the parameters and the random numbers are
  // as they were before. `parameters`: they outlive this object; empty: only forward runs. `sums`: the buffers of
  // gradients that the ranks add up behind backward.
  Comparison(Player& player, const std::vector<at::Tensor>& batch, const NamedTensors& parameters,
             const NamedTensors& buffers, std::vector<at::Tensor> sums = {});

  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  // Sees what the eager backward writes into the buffers of gradients: record with it.
  const GradientWrites& writes() const { return writes_; }

  // Returns the first tensor of the eager work that has other bits than the replay's, in words; "": none. `outputs`: of
  // the eager work, in the order of the player's.
  std::string difference(const NamedTensors& outputs) const;

 private:
  void replay(Player& player, const std::vector<at::Tensor>& batch);
  void look(const at::Tensor& written);
  bool is_right(std::size_t parameter) const;

  const NamedTensors& parameters_;
  const NamedTensors& model_buffers_;
  GradientWrites writes_;
  std::string failure_;  // of the replay; empty: none
  std::vector<at::Tensor> outputs_;
  std::vector<at::Tensor> gradients_;
  std::vector<const void*> places_;  // of the gradients, in the buffers or elsewhere
  std::vector<bool> right_;          // of each gradient in a buffer: what was written there last has the same bits
  std::vector<at::Tensor> buffers_;
  at::Tensor generator_;
};

}  // namespace ddp::train
