#include <cmath>
#include <optional>

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "datasets/transform/arguments.h"
#include "datasets/transform/random_apply.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct RandomErasingOptions : ApplyOptions {
  std::vector<double> scale = {0.02, 0.33};
  std::vector<double> ratio = {0.3, 3.3};
  config::Value value = 0.0;
  void fields(config::Fields& f) {
    ApplyOptions::fields(f);
    f(scale_option("least and greatest share of the image's area to erase", config::between(0, 1)), scale);
    f(ratio_option("least and greatest height / width of the erased part"), ratio);
    f({.name = "value",
       .doc = "new value: a number, one for each channel, or \"random\" for normally distributed numbers",
       .choices = {"random"},
       .types = {config::Type::number, config::Type::list, config::Type::text},
       .item = config::Type::number},
      value);
  }
};

// Returns a tensor as nested lists.
config::Value lists_of(const at::Tensor& tensor) {
  if (tensor.dim() == 0) return tensor.item<float>();
  config::Value list = config::Value::array();
  for (std::int64_t i = 0; i < tensor.size(0); ++i) list.push_back(lists_of(tensor[i]));
  return list;
}

// Zhong et al. 2017.
class RandomErasing : public FloatTransform {
 public:
  explicit RandomErasing(const RandomErasingOptions& o) : o_(o) {
    check_bounds(o.scale, "scale");
    check_bounds(o.ratio, "ratio");
    if (o.value.is_number()) value_ = {o.value.get<double>()};
    if (o.value.is_array()) value_ = o.value.get<std::vector<double>>();
    if (o.value.is_array() && value_.size() != 1 && value_.size() != 3) {
      throw usage_error("must be a number, one for each channel, or \"random\", not " + o.value.dump(), "value");
    }
  }

  std::optional<config::Value> for_evaluation() const override { return config::Value::array(); }

  void apply(const at::Tensor& image, Draws& draws, const DrawLog& draw_log) const override {
    if (!value_.empty()) check_channels(value_, image.size(0), "value");
    if (!draw_apply(o_.p, draws, draw_log)) return;
    const std::optional<format::Rectangle> part = draw(image, draws);
    at::Tensor value;
    if (part) value = draw_value(image.size(0), *part, draws);
    draw_log("i", part ? part->top : 0);
    draw_log("j", part ? part->left : 0);
    draw_log("h", part ? part->height : image.size(1));
    draw_log("w", part ? part->width : image.size(2));
    if (draw_log.has_listener()) draw_log("v", part ? lists_of(value) : config::Value());
    if (part) image.narrow(1, part->top, part->height).narrow(2, part->left, part->width).copy_(value);
  }

 private:
  // Tries ten times, which gives the distribution of v2's make_params. Nothing: the image does not change.
  std::optional<format::Rectangle> draw(const at::Tensor& image, Draws& draws) const {
    const auto area = static_cast<double>(image.size(1) * image.size(2));
    for (int i = 0; i < 10; ++i) {
      const double target = area * draw_between(o_.scale[0], o_.scale[1], draws);
      const double ratio = draw_ratio(o_.ratio, draws);
      const std::int64_t height = rounded(std::sqrt(target * ratio));
      const std::int64_t width = rounded(std::sqrt(target / ratio));
      if (height >= image.size(1) || width >= image.size(2)) continue;
      const auto top = draws.below(static_cast<std::uint64_t>(image.size(1) - height + 1));
      const auto left = draws.below(static_cast<std::uint64_t>(image.size(2) - width + 1));
      return format::Rectangle{.top = static_cast<std::int64_t>(top),
                               .left = static_cast<std::int64_t>(left),
                               .height = height,
                               .width = width};
    }
    return std::nullopt;
  }

  // Returns float32 [1 or c, 1, 1], or [c, h, w] if the value is random.
  at::Tensor draw_value(std::int64_t channels, const format::Rectangle& part, Draws& draws) const {
    if (!value_.empty()) return at::tensor(value_, at::kFloat).view({-1, 1, 1});
    at::Tensor normal = at::empty({channels, part.height, part.width}, at::kFloat);
    auto* const numbers = normal.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < normal.numel(); ++i) numbers[i] = static_cast<float>(draws.normal());
    return normal;
  }

  const RandomErasingOptions o_;
  std::vector<double> value_;  // empty: random
};

const bool random_erasing_registered = transforms().add<RandomErasingOptions>(
    "RandomErasing",
    "overwrites a random part, with the probability p; the image is float32 from here on; left out in evaluation",
    config::made<RandomErasing>);

}  // namespace
}  // namespace ddp::datasets
