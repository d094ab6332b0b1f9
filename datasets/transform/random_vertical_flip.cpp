#include "datasets/transform/random_apply.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

class RandomVerticalFlip : public PixelTransform {
 public:
  explicit RandomVerticalFlip(const ApplyOptions& o) : p_(o.p) {}
  std::optional<config::Value> for_evaluation() const override { return config::Value::array(); }
  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const override {
    if (draw_apply(p_, draws, draw_log)) image.flip_vertical();
  }

 private:
  const double p_;
};

const bool random_vertical_flip_registered = transforms().add<ApplyOptions>(
    "RandomVerticalFlip", "swaps top and bottom, with the probability p; left out in evaluation",
    config::made<RandomVerticalFlip>);

}  // namespace
}  // namespace ddp::datasets
