#include "datasets/transform/functional.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct GrayscaleOptions {
  std::int64_t num_output_channels = 1;
  void fields(config::Fields& f) {
    f({.name = "num_output_channels", .doc = "1 or 3", .range = config::between(1, 3)}, num_output_channels);
  }
};

class Grayscale : public PixelTransform {
 public:
  explicit Grayscale(const GrayscaleOptions& o) : channels_(o.num_output_channels) {
    if (channels_ == 2) throw usage_error("must be 1 or 3, not 2", "num_output_channels");
  }

  void apply(Image& image, Draws&, const DrawLog&) const override {
    at::Tensor pixels = image.pixels();
    if (image.channels() == 3) pixels = gray_of(pixels).to(at::kByte);
    image.replace(pixels.expand({channels_, image.height(), image.width()}));
  }

 private:
  const std::int64_t channels_;
};

const bool grayscale_registered = transforms().add<GrayscaleOptions>(
    "Grayscale", "gray as one channel or three equal channels", config::made<Grayscale>);

}  // namespace
}  // namespace ddp::datasets
