#include "datasets/transform/warp.h"

#include <cmath>
#include <numbers>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/grid_sampler.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rot90.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include "datasets/transform/arguments.h"

namespace ddp::datasets {
namespace {

// Returns the matrix from a pixel of the changed image to its source, float32 [2, 3], in pixels from the middle of the
// image, where (x, y) is the center of the change: _get_inverse_affine_matrix.
at::Tensor inverse_matrix(const Affine& change, double x, double y) {
  const auto radians = [](double degrees) { return degrees * (std::numbers::pi / 180); };
  const double turn = radians(change.angle);
  const double tangent = std::tan(radians(change.shear[0]));
  const double shear_y = radians(change.shear[1]);
  const double a = std::cos(turn - shear_y) / std::cos(shear_y);
  const double b = -(a * tangent + std::sin(turn));
  const double c = std::sin(turn - shear_y) / std::cos(shear_y);
  const double d = std::cos(turn) - c * tangent;
  const std::array<double, 4> m = {d / change.scale, -b / change.scale, -c / change.scale, a / change.scale};
  const double to_x = x + change.translate[0];
  const double to_y = y + change.translate[1];
  return at::tensor({m[0], m[1], x - m[0] * to_x - m[1] * to_y, m[2], m[3], y - m[2] * to_x - m[3] * to_y}, at::kFloat)
      .view({2, 3});
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

// Returns (x, y, 1) of each pixel, row by row: float32 [1, h * w, 3]. The first pixel is at (left, top).
at::Tensor pixels_of(const format::ImageSize& size, double left, double top) {
  const auto steps = [](double first, std::int64_t count) {
    return at::linspace(first, first + static_cast<double>(count - 1), count, at::kFloat);
  };
  const at::Tensor grid = at::empty({1, size.height, size.width, 3}, at::kFloat);
  grid.select(3, 0).copy_(steps(left, size.width));
  grid.select(3, 1).copy_(steps(top, size.height).unsqueeze(-1));
  grid.select(3, 2).fill_(1);
  return grid.view({1, size.height * size.width, 3});
}

// Returns the matrix [2, 3] as a factor for pixels_of, whose products are halves of the image's sides.
at::Tensor in_halves(const at::Tensor& matrix, const at::Tensor& image) {
  const at::Tensor halves =
      at::tensor({0.5 * static_cast<double>(image.size(2)), 0.5 * static_cast<double>(image.size(1))}, at::kFloat);
  return matrix.unsqueeze(0).transpose(1, 2).div(halves);
}

// Reads the image at `places`, from -1 at one edge of the image to 1 at the other: float32 [1, h, w, 2]. A channel of
// ones is read with the image; values below 1 mark the pixels that get the fill.
at::Tensor sampled(const at::Tensor& pixels, const at::Tensor& places, const Sampling& sampling) {
  constexpr std::int64_t kBilinear = 0;
  constexpr std::int64_t kNearest = 1;
  constexpr std::int64_t kZeros = 0;
  at::Tensor from = pixels.unsqueeze(0).to(at::kFloat);
  if (!sampling.fill.empty()) from = at::cat({from, at::ones({1, 1, from.size(2), from.size(3)}, at::kFloat)}, 1);
  at::Tensor image =
      at::grid_sampler(from, places, sampling.bilinear ? kBilinear : kNearest, kZeros, /*align_corners=*/false);
  if (!sampling.fill.empty()) {
    const at::Tensor mask = image.narrow(1, pixels.size(0), 1);
    const at::Tensor color = at::tensor(sampling.fill, at::kFloat).view({1, -1, 1, 1});
    image = image.narrow(1, 0, pixels.size(0));
    image = sampling.bilinear ? image.sub_(color).mul_(mask).add_(color) : at::where(mask.lt(0.5), color, image);
  }
  return image.round_().to(at::kByte).squeeze(0);
}

at::Tensor with_matrix(const at::Tensor& pixels, const at::Tensor& matrix, const format::ImageSize& to,
                       const Sampling& sampling) {
  const at::Tensor grid =
      pixels_of(to, (1 - static_cast<double>(to.width)) * 0.5, (1 - static_cast<double>(to.height)) * 0.5);
  return sampled(pixels, grid.bmm(in_halves(matrix, pixels)).view({1, to.height, to.width, 2}), sampling);
}

format::ImageSize size_of(const at::Tensor& pixels) { return {.height = pixels.size(1), .width = pixels.size(2)}; }

at::Tensor matrix_around(const at::Tensor& pixels, const Affine& change, const Center& center) {
  const auto from_middle = [&](std::size_t axis, std::int64_t size) {
    return center ? (*center)[axis] - static_cast<double>(size) * 0.5 : 0;
  };
  return inverse_matrix(change, from_middle(0, pixels.size(2)), from_middle(1, pixels.size(1)));
}

}  // namespace

void SamplingOptions::fields(config::Fields& f) {
  f(interpolation_option({"nearest", "bilinear"}), interpolation);
  f(fill_option(), fill);
}

Sampling::Sampling(const SamplingOptions& o) : bilinear(o.interpolation == "bilinear") {
  if (!o.fill.is_null()) fill = fill_of(o.fill);
}

void Sampling::check(std::int64_t channels) const {
  if (!fill.empty()) check_channels(fill, channels, "fill");
}

config::Option center_option() {
  return {.name = "center",
          .doc = "center of the rotation, [x, y] in pixels from the upper left corner; default: the middle",
          .length = 2,
          .types = {config::Type::list},
          .item = config::Type::number};
}

Center center_of(const config::Value& center) {
  return center.is_null() ? Center() : std::array{center[0].get<double>(), center[1].get<double>()};
}

at::Tensor affine(const at::Tensor& pixels, const Affine& change, const Center& center, const Sampling& sampling) {
  return with_matrix(pixels, matrix_around(pixels, change, center), size_of(pixels), sampling);
}

at::Tensor rotated(const at::Tensor& pixels, double degrees, bool expand, const Center& center,
                   const Sampling& sampling) {
  const double whole = std::fmod(degrees, 360);
  const double angle = whole < 0 ? whole + 360 : whole;
  // Quarter turns about the middle only move pixels, as in v2.
  const double quarters = angle / 90;
  const bool is_quarter = !center && quarters == std::floor(quarters) && quarters < 4;
  if (is_quarter && (expand || pixels.size(1) == pixels.size(2) || std::fmod(quarters, 2) == 0)) {
    return at::rot90(pixels, static_cast<std::int64_t>(quarters), {1, 2});
  }
  const at::Tensor matrix = matrix_around(pixels, {.angle = -angle}, center);
  return with_matrix(pixels, matrix, expand ? expanded(matrix, pixels.size(1), pixels.size(2)) : size_of(pixels),
                     sampling);
}

at::Tensor perspective(const at::Tensor& pixels, const at::Tensor& coefficients, const Sampling& sampling) {
  const format::ImageSize size = size_of(pixels);
  const at::Tensor grid = pixels_of(size, 0.5, 0.5);
  const at::Tensor places = grid.bmm(in_halves(coefficients.narrow(0, 0, 6).view({2, 3}), pixels));
  const at::Tensor divisor = at::cat({coefficients.narrow(0, 6, 2), at::ones({1}, at::kFloat)}).repeat({1, 2, 1});
  places.div_(grid.bmm(divisor.transpose(1, 2))).sub_(1);
  return sampled(pixels, places.view({1, size.height, size.width, 2}), sampling);
}

}  // namespace ddp::datasets
