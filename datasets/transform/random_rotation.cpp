#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/grid_sampler.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rot90.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include "datasets/transform/arguments.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct RandomRotationOptions {
  config::Value degrees;
  std::string interpolation = "nearest";
  bool expand = false;
  config::Value center;
  config::Value fill = 0.0;
  void fields(config::Fields& f) {
    f({.name = "degrees",
       .doc = "range of the random angle, counter-clockwise: x for -x to x, or [least, greatest]",
       .required = true,
       .types = {config::Type::number, config::Type::list},
       .item = config::Type::number},
      degrees);
    f(interpolation_option({"nearest", "bilinear"}), interpolation);
    f({.name = "expand", .doc = "enlarge the image to hold all its pixels; its shape then depends on the angle"},
      expand);
    f({.name = "center",
       .doc = "center of the rotation, [x, y] in pixels from the upper left corner; default: the middle",
       .length = 2,
       .types = {config::Type::list},
       .item = config::Type::number},
      center);
    f(fill_option(), fill);
  }
};

// Returns the matrix from a pixel of the turned image to its source, float32 [2, 3], in pixels from the middle:
// _get_inverse_affine_matrix of torchvision/transforms/v2/functional/_geometry.py, for a rotation only.
at::Tensor inverse_rotation(double degrees, double x, double y) {
  const double angle = -degrees * (std::numbers::pi / 180);
  const double sine = std::sin(angle);
  const double cosine = std::cos(angle);
  const double shift_x = x - cosine * x - sine * y;
  const double shift_y = y - -sine * x - cosine * y;
  return at::tensor({cosine, sine, shift_x, -sine, cosine, shift_y}, at::kFloat).view({2, 3});
}

// Returns the size that holds the whole turned image, computed in float32 and truncated to 1e-4 before it is rounded,
// as in v2.
format::ImageSize expanded(const at::Tensor& matrix, std::int64_t height, std::int64_t width) {
  const double h = 0.5 * static_cast<double>(height);
  const double w = 0.5 * static_cast<double>(width);
  const at::Tensor corners = at::tensor({-w, -h, 1.0, -w, h, 1.0, w, h, 1.0, w, -h, 1.0}, at::kFloat).view({4, 3});
  const at::Tensor turned = corners.matmul(matrix.t());
  const at::Tensor middle = at::tensor({w, h}, at::kFloat);
  const auto cut = [&](const at::Tensor& ends) { return ends.add(middle).mul_(1 / 1e-4).trunc_().mul_(1e-4); };
  const at::Tensor sides = cut(turned.amax(0)).ceil_().sub_(cut(turned.amin(0)).floor_());
  return {.height = static_cast<std::int64_t>(sides[1].item<float>()),
          .width = static_cast<std::int64_t>(sides[0].item<float>())};
}

// Returns the source place of each pixel of the turned image, from -1 at one edge of the image to 1 at the other:
// float32 [1, h, w, 2].
at::Tensor places_of(const at::Tensor& matrix, const format::ImageSize& to, std::int64_t height, std::int64_t width) {
  const auto centered = [](std::int64_t size) {
    const double end = (static_cast<double>(size) - 1) * 0.5;
    return at::linspace(-end, end, size, at::kFloat);
  };
  const at::Tensor grid = at::empty({1, to.height, to.width, 3}, at::kFloat);
  grid.select(3, 0).copy_(centered(to.width));
  grid.select(3, 1).copy_(centered(to.height).unsqueeze(-1));
  grid.select(3, 2).fill_(1);
  const at::Tensor half = at::tensor({0.5 * static_cast<double>(width), 0.5 * static_cast<double>(height)}, at::kFloat);
  const at::Tensor scaled = matrix.unsqueeze(0).transpose(1, 2).div(half);
  return grid.view({1, to.height * to.width, 3}).bmm(scaled).view({1, to.height, to.width, 2});
}

// Samples the image at `places`; returns uint8 [c, h, w]. A channel of ones is sampled with the image; values below 1
// mark the pixels that get the fill.
at::Tensor sampled(const at::Tensor& pixels, const at::Tensor& places, bool bilinear, const std::vector<double>& fill) {
  constexpr std::int64_t kBilinear = 0;
  constexpr std::int64_t kNearest = 1;
  constexpr std::int64_t kZeros = 0;
  const at::Tensor ones = at::ones({1, 1, pixels.size(1), pixels.size(2)}, at::kFloat);
  const at::Tensor both = at::cat({pixels.unsqueeze(0).to(at::kFloat), ones}, 1);
  const at::Tensor turned =
      at::grid_sampler(both, places, bilinear ? kBilinear : kNearest, kZeros, /*align_corners=*/false);
  at::Tensor image = turned.narrow(1, 0, pixels.size(0));
  const at::Tensor mask = turned.narrow(1, pixels.size(0), 1).expand_as(image);
  const at::Tensor color = at::tensor(fill, at::kFloat).view({1, -1, 1, 1});
  image = bilinear ? image.sub_(color).mul_(mask).add_(color) : at::where(mask.lt(0.5), color.expand_as(image), image);
  return image.round_().to(at::kByte).squeeze(0);
}

class RandomRotation : public PixelTransform {
 public:
  explicit RandomRotation(const RandomRotationOptions& o)
      : angles_(range_around(0, o.degrees, "degrees")),
        bilinear_(o.interpolation == "bilinear"),
        expand_(o.expand),
        fill_(fill_of(o.fill)) {
    if (!o.center.is_null()) center_ = {o.center[0].get<double>(), o.center[1].get<double>()};
  }

  std::optional<config::Value> for_evaluation() const override { return config::Value::array(); }

  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const override {
    const double angle = draw_between(angles_[0], angles_[1], draws);
    draw_log("angle", angle);
    check_channels(fill_, image.channels(), "fill");
    const double whole = std::fmod(angle, 360);
    image.replace(turned(image.pixels(), whole < 0 ? whole + 360 : whole));
  }

 private:
  // `angle`: 0 to 360. Quarter turns about the middle only move pixels, as in v2.
  at::Tensor turned(const at::Tensor& pixels, double angle) const {
    const std::int64_t height = pixels.size(1);
    const std::int64_t width = pixels.size(2);
    const double quarters = angle / 90;
    const bool is_quarter = !center_ && quarters == std::floor(quarters) && quarters < 4;
    if (is_quarter && (expand_ || height == width || std::fmod(quarters, 2) == 0)) {
      return at::rot90(pixels, static_cast<std::int64_t>(quarters), {1, 2});
    }
    const double x = center_ ? center_->first - static_cast<double>(width) * 0.5 : 0;
    const double y = center_ ? center_->second - static_cast<double>(height) * 0.5 : 0;
    const at::Tensor matrix = inverse_rotation(angle, x, y);
    const format::ImageSize size =
        expand_ ? expanded(matrix, height, width) : format::ImageSize{.height = height, .width = width};
    return sampled(pixels, places_of(matrix, size, height, width), bilinear_, fill_);
  }

  const std::vector<double> angles_;
  const bool bilinear_;
  const bool expand_;
  const std::vector<double> fill_;
  std::optional<std::pair<double, double>> center_;
};

const bool random_rotation_registered = transforms().add<RandomRotationOptions>(
    "RandomRotation", "turns the image by a random angle; left out in evaluation", config::made<RandomRotation>);

}  // namespace
}  // namespace ddp::datasets
