#include <optional>

#include "base/error.h"
#include "datasets/transform/arguments.h"
#include "datasets/transform/transform.h"
#include "datasets/transform/warp.h"

namespace ddp::datasets {
namespace {

struct RandomAffineOptions : SamplingOptions {
  config::Value degrees;
  std::vector<double> translate = {0, 0};
  std::vector<double> scale = {1, 1};
  config::Value shear = 0.0;
  config::Value center;
  void fields(config::Fields& f) {
    f(degrees_option("clockwise"), degrees);
    f({.name = "translate",
       .doc = "greatest shift to each side, as shares of the image's width and height",
       .range = config::between(0, 1),
       .length = 2},
      translate);
    f(scale_option("least and greatest factor of the image's size", config::above(0)), scale);
    f({.name = "shear",
       .doc = "range of the random shear in degrees, parallel to the x axis: x for -x to x, or [least, greatest]; two "
              "more numbers are the range parallel to the y axis",
       .types = {config::Type::number, config::Type::list},
       .item = config::Type::number},
      shear);
    SamplingOptions::fields(f);
    f(center_option(), center);
  }
};

class RandomAffine : public PixelTransform {
 public:
  explicit RandomAffine(const RandomAffineOptions& o)
      : angles_(range_around(0, o.degrees, "degrees")),
        translate_(o.translate),
        scale_(o.scale),
        center_(center_of(o.center)),
        sampling_(o) {
    check_bounds(scale_, "scale");
    const config::Value& shear = o.shear;
    if (shear.is_array() && shear.size() != 2 && shear.size() != 4) {
      throw usage_error("must be a number or a list of 2 or 4 numbers, not " + shear.dump(), "shear");
    }
    const bool both = shear.is_array() && shear.size() == 4;
    shear_x_ = range_around(0, both ? config::Value({shear[0], shear[1]}) : shear, "shear");
    if (both) shear_y_ = range_around(0, {shear[2], shear[3]}, "shear");
  }

  std::optional<config::Value> for_evaluation() const override { return config::Value::array(); }

  // Draws six numbers: the angle, the shifts along x and y, the scale, the shears along x and y.
  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const override {
    const auto shift = [&](double share, std::int64_t size) {
      const double greatest = share * static_cast<double>(size);
      return static_cast<double>(rounded(draw_between(-greatest, greatest, draws)));
    };
    Affine change;
    change.angle = draw_between(angles_[0], angles_[1], draws);
    change.translate[0] = shift(translate_[0], image.width());
    change.translate[1] = shift(translate_[1], image.height());
    change.scale = draw_between(scale_[0], scale_[1], draws);
    change.shear[0] = draw_between(shear_x_[0], shear_x_[1], draws);
    change.shear[1] = draw_between(shear_y_[0], shear_y_[1], draws);
    draw_log("angle", change.angle);
    draw_log("translate", change.translate);
    draw_log("scale", change.scale);
    draw_log("shear", change.shear);
    sampling_.check(image.channels());
    image.replace(affine(image.pixels(), change, center_, sampling_));
  }

 private:
  const std::vector<double> angles_;
  const std::vector<double> translate_;
  const std::vector<double> scale_;
  std::vector<double> shear_x_;
  std::vector<double> shear_y_ = {0, 0};
  const Center center_;
  const Sampling sampling_;
};

const bool random_affine_registered = transforms().add<RandomAffineOptions>(
    "RandomAffine", "turns, shifts, scales and shears the image by random amounts; left out in evaluation",
    config::made<RandomAffine>);

}  // namespace
}  // namespace ddp::datasets
