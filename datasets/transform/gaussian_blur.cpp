#include <cmath>
#include <optional>

#include <ATen/ops/linspace.h>
#include <ATen/ops/reflection_pad2d.h>

#include "base/error.h"
#include "datasets/transform/arguments.h"
#include "datasets/transform/functional.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct GaussianBlurOptions {
  config::Value kernel_size;
  config::Value sigma = {0.1, 2.0};
  void fields(config::Fields& f) {
    f({.name = "kernel_size",
       .doc = "pixels that are averaged, an odd number: one for both directions, or [width, height]",
       .range = config::at_least(1),
       .required = true,
       .types = {config::Type::integer, config::Type::list},
       .item = config::Type::integer},
      kernel_size);
    f({.name = "sigma",
       .doc = "standard deviation in pixels: a number, or the range of a random one, [least, greatest]",
       .range = config::above(0),
       .types = {config::Type::number, config::Type::list},
       .item = config::Type::number},
      sigma);
  }
};

// Returns the weights of one direction, float32 [size], which sum to 1. The factor is v2's.
at::Tensor weights(std::int64_t size, double sigma) {
  const double end = static_cast<double>(size - 1) / (2 * std::sqrt(2.0));
  return at::linspace(-end, end, size, at::kFloat).div_(sigma).pow_(2).neg_().softmax(0);
}

class GaussianBlur : public PixelTransform {
 public:
  explicit GaussianBlur(const GaussianBlurOptions& o)
      : sigma_(o.sigma.is_number() ? std::vector(2, o.sigma.get<double>()) : range_around(0, o.sigma, "sigma")),
        size_(o.kernel_size.is_number() ? std::vector(2, o.kernel_size.get<std::int64_t>())
                                        : o.kernel_size.get<std::vector<std::int64_t>>()) {
    if (size_.size() != 2 || size_[0] % 2 == 0 || size_[1] % 2 == 0) {
      throw usage_error("must be an odd integer or two of them, [width, height], not " + o.kernel_size.dump(),
                        "kernel_size");
    }
  }

  std::optional<config::Value> for_evaluation() const override { return config::Value::array(); }

  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const override {
    const double sigma = draw_between(sigma_[0], sigma_[1], draws);
    draw_log("sigma", config::Value::array({sigma, sigma}));
    const std::int64_t x = size_[0] / 2;
    const std::int64_t y = size_[1] / 2;
    if (x >= image.width() || y >= image.height()) {
      throw usage_error("an image of " + std::to_string(image.height()) + " x " + std::to_string(image.width()) +
                            " is too small for a kernel_size of [" + std::to_string(size_[0]) + ", " +
                            std::to_string(size_[1]) + "]",
                        "GaussianBlur", "set a smaller kernel_size, or put a Resize before it");
    }
    const at::Tensor kernel = weights(size_[1], sigma).unsqueeze(-1) * weights(size_[0], sigma);
    const at::Tensor padded = at::reflection_pad2d(image.pixels().to(at::kFloat), {x, x, y, y});
    image.replace(convolved(padded, kernel).round_().to(at::kByte));
  }

 private:
  const std::vector<double> sigma_;
  const std::vector<std::int64_t> size_;  // width, height
};

const bool gaussian_blur_registered = transforms().add<GaussianBlurOptions>(
    "GaussianBlur", "averages each pixel with its neighbors, with random width; left out in evaluation",
    config::made<GaussianBlur>);

}  // namespace
}  // namespace ddp::datasets
