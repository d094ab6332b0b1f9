#include <optional>

#include "datasets/transform/arguments.h"
#include "datasets/transform/transform.h"
#include "datasets/transform/warp.h"

namespace ddp::datasets {
namespace {

struct RandomRotationOptions : SamplingOptions {
  config::Value degrees;
  bool expand = false;
  config::Value center;
  void fields(config::Fields& f) {
    f(degrees_option("counter-clockwise"), degrees);
    SamplingOptions::fields(f);
    f({.name = "expand", .doc = "enlarge the image to hold all its pixels; its shape then depends on the angle"},
      expand);
    f(center_option(), center);
  }
};

class RandomRotation : public PixelTransform {
 public:
  explicit RandomRotation(const RandomRotationOptions& o)
      : angles_(range_around(0, o.degrees, "degrees")), expand_(o.expand), center_(center_of(o.center)), sampling_(o) {}

  std::optional<config::Value> for_evaluation() const override { return config::Value::array(); }

  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const override {
    const double angle = draw_between(angles_[0], angles_[1], draws);
    draw_log("angle", angle);
    sampling_.check(image.channels());
    image.replace(rotated(image.pixels(), angle, expand_, center_, sampling_));
  }

 private:
  const std::vector<double> angles_;
  const bool expand_;
  const Center center_;
  const Sampling sampling_;
};

const bool random_rotation_registered = transforms().add<RandomRotationOptions>(
    "RandomRotation", "turns the image by a random angle; left out in evaluation", config::made<RandomRotation>);

}  // namespace
}  // namespace ddp::datasets
