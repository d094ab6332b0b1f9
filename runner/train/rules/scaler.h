#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/rules/rule.h"

namespace ddp::train {

// The loss scale of fp16: torch.amp.GradScaler with its defaults (torch/amp/grad_scaler.py). Small gradients would
// become 0 in fp16, so the loss is multiplied before backward, and the gradients are divided after it.
class Scaler : public Rule {
 public:
  config::Value state() const override;
  void restore(const config::Value& state) override;

  // Returns the loss times the scale.
  at::Tensor scaled(const at::Tensor& loss) const;
  // Divides gradients by the scale, in place. Returns whether all of them are finite, and adapts the scale: half of it
  // where they are not, twice of it after 2000 steps in a row where they are.
  bool unscale(const std::vector<at::Tensor>& gradients);
  double scale() const { return scale_; }

 private:
  void adapt(bool finite);

  float scale_ = 65536;
  std::int64_t finite_steps_ = 0;  // in a row, since the scale changed
};

}  // namespace ddp::train
