#include <algorithm>

#include "base/error.h"
#include "datasets/transform/arguments.h"
#include "datasets/transform/functional.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct RandomCropOptions {
  config::Value size;
  config::Value padding;
  bool pad_if_needed = false;
  config::Value fill = 0.0;
  std::string padding_mode = "constant";
  void fields(config::Fields& f) {
    f(size_of_image_option("size of the crop: one for both sides, or [height, width]"), size);
    f(padding_option("width of a border that is added before the crop, in pixels", /*required=*/false), padding);
    f({.name = "pad_if_needed", .doc = "pad an image that is smaller than the crop"}, pad_if_needed);
    f(fill_option(), fill);
    f(padding_mode_option(), padding_mode);
  }
};

class RandomCrop : public PixelTransform {
 public:
  explicit RandomCrop(const RandomCropOptions& o)
      : size_(square_or_sides(o.size)),
        size_option_(o.size),
        border_(o.padding.is_null() ? Border() : border_of(o.padding)),
        pad_if_needed_(o.pad_if_needed),
        fill_(fill_of(o.fill)),
        mode_(o.padding_mode) {
    check_padding(fill_, mode_);
  }

  // Only training pads.
  std::optional<config::Value> for_evaluation() const override {
    return config::Value::array({{{"type", "CenterCrop"}, {"size", size_option_}}});
  }

  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const override {
    const Border border = border_for(image);
    const std::int64_t rows = image.height() + border.top + border.bottom - size_.height;
    const std::int64_t columns = image.width() + border.left + border.right - size_.width;
    if (rows < 0 || columns < 0) throw too_small(image);
    const std::int64_t top =
        rows > 0 ? static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(rows) + 1)) : 0;
    const std::int64_t left =
        columns > 0 ? static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(columns) + 1)) : 0;
    if (draw_log.has_listener()) {
      draw_log("needs_crop", rows > 0 || columns > 0);
      draw_log("top", top);
      draw_log("left", left);
      draw_log("height", size_.height);
      draw_log("width", size_.width);
      draw_log("needs_pad", border.any());
      draw_log("padding", config::Value::array({border.left, border.top, border.right, border.bottom}));
    }
    if (border.any()) pad_image(image, border, fill_, mode_);
    image.crop({.top = top, .left = left, .height = size_.height, .width = size_.width});
  }

 private:
  // Returns the border of the option `padding`, plus the missing pixels on both sides if pad_if_needed is set: v2's
  // rule.
  Border border_for(const Image& image) const {
    Border border = border_;
    if (!pad_if_needed_) return border;
    const std::int64_t rows = std::max<std::int64_t>(size_.height - image.height() - border.top - border.bottom, 0);
    const std::int64_t columns = std::max<std::int64_t>(size_.width - image.width() - border.left - border.right, 0);
    border.top += rows;
    border.bottom += rows;
    border.left += columns;
    border.right += columns;
    return border;
  }

  Error too_small(const Image& image) const {
    return usage_error("a crop of " + std::to_string(size_.height) + " x " + std::to_string(size_.width) +
                           " is larger than the image with its border, which is " +
                           std::to_string(image.height() + border_.top + border_.bottom) + " x " +
                           std::to_string(image.width() + border_.left + border_.right),
                       "RandomCrop", "set pad_if_needed = true, or put a Resize before it");
  }

  const format::ImageSize size_;
  const config::Value size_option_;
  const Border border_;
  const bool pad_if_needed_;
  const std::vector<double> fill_;
  const std::string mode_;
};

const bool random_crop_registered = transforms().add<RandomCropOptions>(
    "RandomCrop", "crops a part at a random place; in evaluation CenterCrop", config::made<RandomCrop>);

}  // namespace
}  // namespace ddp::datasets
