#include <algorithm>
#include <optional>

#include "base/error.h"
#include "datasets/transform/arguments.h"
#include "datasets/transform/functional.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct ResizeOptions {
  config::Value size;
  ResizeMethod method;
  std::optional<std::int64_t> max_size;
  void fields(config::Fields& f) {
    f(size_of_image_option("length of the shorter side, or [height, width]", /*required=*/false), size);
    method.fields(f);
    f({.name = "max_size",
       .doc = "limit of the longer side; without size, its length",
       .range = config::between(1, 1 << 16)},
      max_size);
  }
};

class Resize : public PixelTransform {
 public:
  explicit Resize(const ResizeOptions& o) : method_(o.method), max_size_(o.max_size) {
    if (o.size.is_null() && !max_size_) throw usage_error("is missing", "size", "set size or max_size");
    if (!o.size.is_null()) sides_ = square_or_sides(o.size);
    is_of_shorter_ = o.size.is_number() || (o.size.is_array() && o.size.size() == 1);
    if (max_size_ && !o.size.is_null() && !is_of_shorter_) {
      throw usage_error("needs a size of the shorter side, not [height, width]", "max_size");
    }
    if (max_size_ && is_of_shorter_ && *max_size_ <= sides_.height) {
      throw usage_error("must be greater than size, which is " + std::to_string(sides_.height), "max_size");
    }
  }

  void apply(Image& image, Draws&, const DrawLog&) const override {
    const format::ImageSize size = size_for(image);
    if (size.height < 1 || size.width < 1) {
      throw usage_error("an image of " + std::to_string(image.height()) + " x " + std::to_string(image.width()) +
                            " is so long that its shorter side becomes 0",
                        "Resize", "set size = [height, width]");
    }
    resize_image(image, size, method_.interpolation, method_.antialias);
  }

 private:
  // _compute_resized_output_size of torchvision/transforms/functional.py: both sides are truncated to whole pixels.
  format::ImageSize size_for(const Image& image) const {
    if (!is_of_shorter_ && !max_size_) return sides_;
    const std::int64_t shorter = std::min(image.height(), image.width());
    const std::int64_t longer = std::max(image.height(), image.width());
    std::int64_t to_shorter = sides_.height;
    std::int64_t to_longer = is_of_shorter_ ? share(to_shorter * longer, shorter) : *max_size_;
    if (!is_of_shorter_) {
      to_shorter = share(*max_size_ * shorter, longer);
    } else if (max_size_ && to_longer > *max_size_) {
      to_shorter = share(*max_size_ * to_shorter, to_longer);
      to_longer = *max_size_;
    }
    return image.width() <= image.height() ? format::ImageSize{.height = to_longer, .width = to_shorter}
                                           : format::ImageSize{.height = to_shorter, .width = to_longer};
  }

  // Python's int(a / b).
  static std::int64_t share(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<double>(a) / static_cast<double>(b));
  }

  const ResizeMethod method_;
  const std::optional<std::int64_t> max_size_;
  format::ImageSize sides_;
  bool is_of_shorter_ = false;
};

const bool resize_registered = transforms().add<ResizeOptions>("Resize", "resizes the image", config::made<Resize>);

}  // namespace
}  // namespace ddp::datasets
