#include <algorithm>
#include <cmath>

#include "datasets/transform/arguments.h"
#include "datasets/transform/functional.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct RandomResizedCropOptions {
  config::Value size;
  std::vector<double> scale = {0.08, 1};
  std::vector<double> ratio = {3.0 / 4, 4.0 / 3};
  ResizeMethod method;
  void fields(config::Fields& f) {
    f(size_of_image_option("new size: one for both sides, or [height, width]"), size);
    f(scale_option("least and greatest share of the image's area", config::above(0)), scale);
    f(ratio_option("least and greatest width / height of the part"), ratio);
    method.fields(f);
  }
};

// Returns the size of an evaluation's Resize before its crop: 256 for a training size of 224.
config::Value size_before_crop(const format::ImageSize& size, const config::Value& option) {
  const auto larger = [](std::int64_t side) { return side * 256 / 224; };
  if (option.is_number() || option.size() == 1) return larger(size.height);
  return config::Value::array({larger(size.height), larger(size.width)});
}

class RandomResizedCrop : public PixelTransform {
 public:
  explicit RandomResizedCrop(const RandomResizedCropOptions& o) : o_(o), size_(square_or_sides(o.size)) {
    check_bounds(o.scale, "scale");
    check_bounds(o.ratio, "ratio");
  }

  std::optional<config::Value> for_evaluation() const override {
    return config::Value::array({{{"type", "Resize"},
                                  {"size", size_before_crop(size_, o_.size)},
                                  {"interpolation", o_.method.interpolation},
                                  {"antialias", o_.method.antialias}},
                                 {{"type", "CenterCrop"}, {"size", o_.size}}});
  }

  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const override {
    const format::Rectangle part = draw(image, draws);
    draw_log("top", part.top);
    draw_log("left", part.left);
    draw_log("height", part.height);
    draw_log("width", part.width);
    image.crop(part);
    resize_image(image, size_, o_.method.interpolation, o_.method.antialias);
  }

 private:
  // Tries ten times and then takes the middle, which gives the distribution of v2's make_params.
  format::Rectangle draw(const Image& image, Draws& draws) const {
    const double area = static_cast<double>(image.height() * image.width());
    for (int i = 0; i < 10; ++i) {
      const double target = area * draw_between(o_.scale[0], o_.scale[1], draws);
      const double ratio = draw_ratio(o_.ratio, draws);
      const std::int64_t width = rounded(std::sqrt(target * ratio));
      const std::int64_t height = rounded(std::sqrt(target / ratio));
      if (width < 1 || width > image.width() || height < 1 || height > image.height()) continue;
      const auto top = draws.below(static_cast<std::uint64_t>(image.height() - height + 1));
      const auto left = draws.below(static_cast<std::uint64_t>(image.width() - width + 1));
      return {.top = static_cast<std::int64_t>(top),
              .left = static_cast<std::int64_t>(left),
              .height = height,
              .width = width};
    }
    return middle(image);
  }

  format::Rectangle middle(const Image& image) const {
    std::int64_t height = image.height();
    std::int64_t width = image.width();
    const double ratio = static_cast<double>(width) / static_cast<double>(height);
    if (ratio < o_.ratio[0]) {
      height = std::max<std::int64_t>(rounded(static_cast<double>(width) / o_.ratio[0]), 1);
    } else if (ratio > o_.ratio[1]) {
      width = std::max<std::int64_t>(rounded(static_cast<double>(height) * o_.ratio[1]), 1);
    }
    return {
        .top = (image.height() - height) / 2, .left = (image.width() - width) / 2, .height = height, .width = width};
  }

  const RandomResizedCropOptions o_;
  const format::ImageSize size_;
};

const bool random_resized_crop_registered = transforms().add<RandomResizedCropOptions>(
    "RandomResizedCrop", "resizes a part of random place, area and shape; in evaluation Resize and CenterCrop",
    config::made<RandomResizedCrop>);

}  // namespace
}  // namespace ddp::datasets
