#include "datasets/image/mix.h"

#include <cmath>
#include <utility>

#include <ATen/ops/one_hot.h>

#include "base/error.h"

namespace ddp::datasets {
namespace {

// Returns the logarithm of a gamma variate with this shape and scale 1. With shapes below 1, a variate may be smaller
// than any double; its logarithm is not.
double draw_log_gamma(double shape, Draws& draws) {
  if (shape < 1) return draw_log_gamma(shape + 1, draws) + std::log(1 - draws.uniform()) / shape;
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = draws.normal();
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - draws.uniform()) < x * x / 2 + d * (1 - v + std::log(v))) return std::log(d * v);
  }
}

}  // namespace

MixRegistry& mixes() {
  static MixRegistry all("mix");
  return all;
}

config::Option mix_option() {
  return {.name = "mix",
          .doc =
              "ways to mix the samples of a training micro-batch; each micro-batch draws one: "
              "{type = \"MixUp\", alpha = 0.2}, …",
          .types = {config::Type::list},
          .item = config::Type::table,
          .variants = mixes().specs()};
}

at::Tensor with_previous(const at::Tensor& rows, double share) {
  return rows.roll({1}, {0}).mul_(1 - share).add_(rows.mul(share));
}

double draw_beta(double alpha, Draws& draws) {
  const double first = draw_log_gamma(alpha, draws);
  const double second = draw_log_gamma(alpha, draws);
  return 1 / (1 + std::exp(second - first));
}

Mixer::Mixer(const config::Value& list, std::uint64_t seed) : seed_(seed) {
  for (const config::Value& entry : list) {
    const std::string type = entry.at("type");
    entries_.push_back({type, datasets::mixes().build(type, entry)});
  }
}

void Mixer::mix(Batch& batch, const MicroBatchPosition& place, std::int64_t classes, const DrawLog& draw_log) const {
  if (entries_.empty()) return;
  at::Tensor& images = batch.inputs.front().second;
  at::Tensor& labels = batch.targets.front().second;
  if (labels.scalar_type() != at::kLong || labels.dim() != 1) {
    throw usage_error("needs a class for each image", "mix", "remove mix");
  }
  Draws draws(seed_, place, /*sample=*/0);
  const auto& entry = entries_[draws.below(entries_.size())];
  at::Tensor shares = at::one_hot(labels, classes).to(at::kFloat);
  draw_log("type", entry.type);
  entry.mix->apply(images, shares, draws, draw_log);
  labels = std::move(shares);
}

}  // namespace ddp::datasets
