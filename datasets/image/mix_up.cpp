#include <ATen/core/Tensor.h>

#include "datasets/image/mix.h"

namespace ddp::datasets {
namespace {

struct MixUpOptions {
  double alpha = 1;
  void fields(config::Fields& f) {
    f({.name = "alpha",
       .doc = "parameter of Beta(alpha, alpha), the distribution of an image's share",
       .range = config::above(0)},
      alpha);
  }
};

// Zhang et al. 2017, with the arithmetic of v2.MixUp.
class MixUp : public Mix {
 public:
  explicit MixUp(const MixUpOptions& o) : alpha_(o.alpha) {}

  void apply(at::Tensor& images, at::Tensor& labels, Draws& draws, const DrawLog& draw_log) const override {
    const double share = draw_beta(alpha_, draws);
    draw_log("lam", share);
    images = with_previous(images, share);
    labels = with_previous(labels, share);
  }

 private:
  const double alpha_;
};

const bool mix_up_registered = mixes().add<MixUpOptions>("MixUp", "a weighted sum of two images", config::made<MixUp>);

}  // namespace
}  // namespace ddp::datasets
