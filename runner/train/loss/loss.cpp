#include "train/loss/loss.h"

#include "base/error.h"

namespace ddp::train {

double Loss::count(const at::Tensor& target) const {
  return p_.count ? p_.count(target) : static_cast<double>(target.numel());
}

CheckTargets Loss::check_targets(const at::Tensor& output, const at::Tensor& target) const {
  if (p_.check_targets) return p_.check_targets(output, target);
  return [](const at::Tensor&) {};
}

LossSum Loss::measure(const at::Tensor& output, const at::Tensor& target, std::int64_t samples) const {
  if (divides_by_count()) {
    const double value = sum(output, target).item<double>();
    return {.sum = value, .weight = count(target), .samples = samples};
  }
  const double mean = (*this)(output, target).item<double>();
  const auto all = static_cast<double>(samples);
  // Exactly 1 if every target weighs 1: the weight of such a batch is then exactly its number of samples.
  const double share = p_.count && target.numel() > 0 ? count(target) / static_cast<double>(target.numel()) : 1;
  if (share == 0) return {.sum = 0, .weight = 0, .samples = samples};
  return {.sum = mean * (all * share), .weight = all * share, .samples = samples};
}

at::Tensor Loss::call(const LossFunction& function, const at::Tensor& output, const at::Tensor& target) const {
  if (p_.check && !output.is_cpu()) p_.check(output, target);
  try {
    return function(output, target.to(output.device(), /*non_blocking=*/true));
  } catch (const c10::Error&) {
    if (p_.check) p_.check(output, target);
    throw;
  }
}

LossRegistry& losses() {
  static LossRegistry instance("loss");
  return instance;
}

const at::Tensor& only_target(const NamedTensors& targets) {
  if (targets.size() == 1) return targets.front().second;
  std::string names;
  for (const auto& [name, tensor] : targets) names += (names.empty() ? "" : ", ") + name;
  throw usage_error("the dataset gives " + std::to_string(targets.size()) + " targets (" + names + ")", "loss",
                    "a loss takes one target: choose one in the dataset");
}

}  // namespace ddp::train
