#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/rules/rule.h"

namespace ddp::train {

// The loss scale of fp16: torch.amp.GradScaler with its defaults (torch/amp/grad_scaler.py). Small gradients would
// become 0 in fp16, so the loss is multiplied by the scale before backward, and the gradients are divided by it
// afterwards.
class Scaler : public Rule {
 public:
  config::Value state() const override;
  void restore(const config::Value& state) override;

  // Returns the loss times the scale.
  at::Tensor scaled(const at::Tensor& loss) const;
  // Divides gradients by the scale, in place. Returns whether all gradients are finite. Halves the scale if not;
  // doubles it after 2000 finite steps in a row.
  bool unscale(const std::vector<at::Tensor>& gradients);
  double scale() const { return scale_; }

 private:
  void adapt(bool finite);

  float scale_ = 65536;
  std::int64_t finite_steps_ = 0;  // in a row since the scale changed
};

}  // namespace ddp::train
