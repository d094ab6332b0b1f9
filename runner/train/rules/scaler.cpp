#include "train/rules/scaler.h"

#include <cmath>
#include <stdexcept>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/full.h>
#include <nlohmann/json.hpp>

#include "config/text/json_text.h"
#include "train/gradients.h"

namespace ddp::train {
namespace {

constexpr float kGrowth = 2;
constexpr float kBackoff = 0.5;
constexpr std::int64_t kGrowthInterval = 2000;

}  // namespace

config::Value Scaler::state() const { return {{"scale", scale_}, {"growth_tracker", finite_steps_}}; }

void Scaler::restore(const config::Value& state) {
  const nlohmann::json numbers = state;
  const auto scale = static_cast<float>(config::number_member(numbers, "scale"));
  const std::int64_t steps = config::count_member(numbers, "growth_tracker");
  if (!std::isfinite(scale) || scale < 0) throw std::runtime_error("\"scale\" is not a positive number");
  scale_ = scale;
  finite_steps_ = steps;
}

// The scale is a float32 tensor, as in GradScaler: a loss in fp16 becomes float32, because the scale does not fit into
// fp16.
at::Tensor Scaler::scaled(const at::Tensor& loss) const {
  return loss * at::full({}, scale_, at::TensorOptions().dtype(at::kFloat).device(loss.device()));
}

bool Scaler::unscale(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  // Computed as in GradScaler.
  const auto inverse = static_cast<float>(1.0 / static_cast<double>(scale_));
  bool finite = true;
  for (const std::vector<at::Tensor>& group : by_device_and_type(gradients)) {
    const auto options = at::TensorOptions().dtype(at::kFloat).device(group.front().device());
    at::Tensor found = at::full({1}, 0.0, options);
    at::_amp_foreach_non_finite_check_and_unscale_(group, found, at::full({}, inverse, options));
    finite = finite && found.item<float>() == 0;
  }
  adapt(finite);
  return finite;
}

// at::_amp_update_scale_
void Scaler::adapt(bool finite) {
  if (!finite) {
    scale_ *= kBackoff;
    finite_steps_ = 0;
  } else if (++finite_steps_ == kGrowthInterval) {
    if (std::isfinite(scale_ * kGrowth)) scale_ *= kGrowth;
    finite_steps_ = 0;
  }
}

}  // namespace ddp::train
