#include "datasets/transform/functional.h"
#include "datasets/transform/random_apply.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct GrayscaleOptions {
  std::int64_t num_output_channels = 1;
  void fields(config::Fields& f) {
    f({.name = "num_output_channels", .doc = "1 or 3", .range = config::between(1, 3)}, num_output_channels);
  }
};

// Makes the image gray, with 1 or 3 channels.
void make_gray(Image& image, std::int64_t channels) {
  at::Tensor pixels = image.pixels();
  if (image.channels() == 3) pixels = gray_of(pixels).to(at::kByte);
  image.replace(pixels.expand({channels, image.height(), image.width()}));
}

class Grayscale : public PixelTransform {
 public:
  explicit Grayscale(const GrayscaleOptions& o) : channels_(o.num_output_channels) {
    if (channels_ == 2) throw usage_error("must be 1 or 3, not 2", "num_output_channels");
  }

  void apply(Image& image, Draws&, const DrawLog&) const override { make_gray(image, channels_); }

 private:
  const std::int64_t channels_;
};

const bool grayscale_registered = transforms().add<GrayscaleOptions>(
    "Grayscale", "gray as one channel or three equal channels", config::made<Grayscale>);

struct RandomGrayscaleOptions : ApplyOptions {
  RandomGrayscaleOptions() : ApplyOptions{.p = 0.1} {}
};

class RandomGrayscale : public PixelTransform {
 public:
  explicit RandomGrayscale(const RandomGrayscaleOptions& o) : p_(o.p) {}
  std::optional<config::Value> for_evaluation() const override { return config::Value::array(); }
  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const override {
    if (!draw_apply(p_, draws, draw_log)) return;
    draw_log("num_input_channels", image.channels());
    make_gray(image, image.channels());
  }

 private:
  const double p_;
};

const bool random_grayscale_registered = transforms().add<RandomGrayscaleOptions>(
    "RandomGrayscale", "gray, with the image's number of channels, with the probability p; left out in evaluation",
    config::made<RandomGrayscale>);

}  // namespace
}  // namespace ddp::datasets
