#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

#include "datasets/transform/arguments.h"
#include "datasets/transform/functional.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct ColorJitterOptions {
  config::Value brightness;
  config::Value contrast;
  config::Value saturation;
  config::Value hue;
  void fields(config::Fields& f) {
    const auto factor = [](const std::string& name) {
      return config::Option{.name = name,
                            .doc = "range of the random factor: x for 1 - x to 1 + x, or [least, greatest]",
                            .range = config::at_least(0),
                            .types = {config::Type::number, config::Type::list},
                            .item = config::Type::number};
    };
    f(factor("brightness"), brightness);
    f(factor("contrast"), contrast);
    f(factor("saturation"), saturation);
    f({.name = "hue",
       .doc = "range of the random turn, in circles: x for -x to x (at most 0.5), or [least, greatest]",
       .range = config::between(-0.5, 0.5),
       .types = {config::Type::number, config::Type::list},
       .item = config::Type::number},
      hue);
  }
};

// Returns the range of a factor around `center`, which is not negative around 1; empty: the factor changes no image.
std::vector<double> jitter_range(const config::Value& value, const std::string& name, double center) {
  if (value.is_null()) return {};
  std::vector<double> range = range_around(center, value, name);
  if (value.is_number() && center > 0) range[0] = std::max(range[0], 0.0);
  return range == std::vector{center, center} ? std::vector<double>() : range;
}

class ColorJitter : public PixelTransform {
 public:
  explicit ColorJitter(const ColorJitterOptions& o)
      : changes_{{{"brightness_factor", jitter_range(o.brightness, "brightness", 1), adjust_brightness},
                  {"contrast_factor", jitter_range(o.contrast, "contrast", 1), adjust_contrast},
                  {"saturation_factor", jitter_range(o.saturation, "saturation", 1), adjust_saturation},
                  {"hue_factor", jitter_range(o.hue, "hue", 0), adjust_hue}}} {}

  std::optional<config::Value> for_evaluation() const override { return config::Value::array(); }

  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const override {
    std::array<std::size_t, 4> order = {};
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[draws.below(left)]);
    draw_log("fn_idx", order);
    std::array<std::optional<double>, 4> factors;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const std::vector<double>& range = changes_[i].range;
      if (!range.empty()) factors[i] = draw_between(range[0], range[1], draws);
      draw_log(changes_[i].name, factors[i] ? config::Value(*factors[i]) : config::Value());
    }
    for (const std::size_t i : order) {
      if (factors[i]) image.replace(changes_[i].adjust(image.pixels(), *factors[i]));
    }
  }

 private:
  // A property that a factor changes.
  struct Change {
    const char* name;
    std::vector<double> range;  // of the factor; empty: it changes no image
    at::Tensor (*adjust)(const at::Tensor& pixels, double factor);
  };

  const std::array<Change, 4> changes_;  // in v2's order
};

const bool color_jitter_registered = transforms().add<ColorJitterOptions>(
    "ColorJitter", "changes brightness, contrast, saturation and hue, in random order; left out in evaluation",
    config::made<ColorJitter>);

}  // namespace
}  // namespace ddp::datasets
