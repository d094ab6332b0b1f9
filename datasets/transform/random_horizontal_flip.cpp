#include "datasets/transform/random_apply.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

class RandomHorizontalFlip : public PixelTransform {
 public:
  explicit RandomHorizontalFlip(const ApplyOptions& o) : p_(o.p) {}
  std::optional<config::Value> for_evaluation() const override { return config::Value::array(); }
  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const override {
    if (draw_apply(p_, draws, draw_log)) image.flip_horizontal();
  }

 private:
  const double p_;
};

const bool random_horizontal_flip_registered = transforms().add<ApplyOptions>(
    "RandomHorizontalFlip", "swaps left and right, with the probability p; left out in evaluation",
    config::made<RandomHorizontalFlip>);

}  // namespace
}  // namespace ddp::datasets
