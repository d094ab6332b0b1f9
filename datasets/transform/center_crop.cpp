#include <algorithm>

#include "datasets/transform/arguments.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct CenterCropOptions {
  config::Value size;
  void fields(config::Fields& f) {
    f(size_of_image_option("size of the crop: one for both sides, or [height, width]"), size);
  }
};

class CenterCrop : public PixelTransform {
 public:
  explicit CenterCrop(const CenterCropOptions& o) : size_(square_or_sides(o.size)) {}

  // A smaller image gets a black border first, as in v2.
  void apply(Image& image, Draws&, const DrawLog&) const override {
    const std::int64_t rows = std::max<std::int64_t>(size_.height - image.height(), 0);
    const std::int64_t columns = std::max<std::int64_t>(size_.width - image.width(), 0);
    image.pad({.left = columns / 2, .top = rows / 2, .right = (columns + 1) / 2, .bottom = (rows + 1) / 2}, {});
    image.crop({.top = rounded(static_cast<double>(image.height() - size_.height) / 2),
                .left = rounded(static_cast<double>(image.width() - size_.width) / 2),
                .height = size_.height,
                .width = size_.width});
  }

 private:
  const format::ImageSize size_;
};

const bool center_crop_registered =
    transforms().add<CenterCropOptions>("CenterCrop", "the middle of the image", config::made<CenterCrop>);

}  // namespace
}  // namespace ddp::datasets
