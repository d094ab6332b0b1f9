#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <ATen/core/Tensor.h>

#include "datasets/image/mix.h"

namespace ddp::datasets {
namespace {

struct CutMixOptions {
  double alpha = 1;
  void fields(config::Fields& f) {
    f({.name = "alpha",
       .doc = "parameter of Beta(alpha, alpha), the distribution of the share that an image keeps",
       .range = config::above(0)},
      alpha);
  }
};

// Yun et al. 2019, with the arithmetic of v2.CutMix: a box of the previous image replaces this image's box.
class CutMix : public Mix {
 public:
  explicit CutMix(const CutMixOptions& o) : alpha_(o.alpha) {}

  void apply(at::Tensor& images, at::Tensor& labels, Draws& draws, const DrawLog& draw_log) const override {
    const std::int64_t height = images.size(2);
    const std::int64_t width = images.size(3);
    const double half = 0.5 * std::sqrt(1 - draw_beta(alpha_, draws));
    const auto [left, right] = draw_side(width, half, draws);
    const auto [top, bottom] = draw_side(height, half, draws);
    const auto box = [&](const at::Tensor& of) { return of.slice(2, top, bottom).slice(3, left, right); };
    const at::Tensor before = images.roll({1}, {0});
    box(images).copy_(box(before));
    const auto area = static_cast<double>((right - left) * (bottom - top));
    const double share = 1 - area / static_cast<double>(width * height);
    draw_log("box", std::array{left, top, right, bottom});
    draw_log("lam_adjusted", share);
    labels = with_previous(labels, share);
  }

 private:
  // The box is clipped to the image.
  static std::pair<std::int64_t, std::int64_t> draw_side(std::int64_t size, double half, Draws& draws) {
    const auto center = static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(size)));
    const auto reach = static_cast<std::int64_t>(half * static_cast<double>(size));
    return {std::max<std::int64_t>(center - reach, 0), std::min(center + reach, size)};
  }

  const double alpha_;
};

const bool cut_mix_registered =
    mixes().add<CutMixOptions>("CutMix", "pastes a box of one image into another", config::made<CutMix>);

}  // namespace
}  // namespace ddp::datasets
