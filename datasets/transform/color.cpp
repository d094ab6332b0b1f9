#include "datasets/transform/color.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

namespace ddp::datasets {
namespace {

// factor * pixels + (1 - factor) * other; `other` is float32.
at::Tensor blend(const at::Tensor& pixels, const at::Tensor& other, double factor) {
  return pixels.mul(factor).add_(other, 1 - factor).clamp_(0, 255).to(at::kByte);
}

// A color as hue, saturation and value, each 0 to 1.
struct Hsv {
  float hue = 0;
  float saturation = 0;
  float value = 0;
};

Hsv hsv_of(float r, float g, float b) {
  const float greatest = std::max({r, g, b});
  const float least = std::min({r, g, b});
  const float range = greatest - least;
  const bool is_gray = range == 0;
  const float divisor = is_gray ? 1.0F : range;
  const float to_r = (greatest - r) / divisor;
  const float to_g = (greatest - g) / divisor;
  const float to_b = (greatest - b) / divisor;
  float sixths = to_g + 4 - to_r;
  if (greatest == r) {
    sixths = to_b - to_g;
  } else if (greatest == g) {
    sixths = to_r + 2 - to_b;
  }
  return {.hue = std::fmod(sixths * static_cast<float>(1.0 / 6) + 1, 1.0F),
          .saturation = range / (is_gray ? 1.0F : greatest),
          .value = greatest};
}

std::array<float, 3> rgb_of(const Hsv& color) {
  const float sixths = color.hue * 6;
  const float sector = std::floor(sixths);
  const float pale = 1 - color.saturation;
  const float strong = color.saturation * (sixths - sector);
  const auto scaled = [&](float share) { return std::clamp(share * color.value, 0.0F, 1.0F); };
  const float v = color.value;
  const float p = scaled(pale);
  const float q = scaled(1 - strong);
  const float t = scaled(strong + pale);
  switch (static_cast<int>(sector) % 6) {
    case 0:
      return {v, t, p};
    case 1:
      return {q, v, p};
    case 2:
      return {p, v, t};
    case 3:
      return {p, q, v};
    case 4:
      return {t, p, v};
    default:
      return {v, p, q};
  }
}

// Returns the remainder of a division by 1 with the sign of the divisor, as torch.remainder does.
float positive_fraction(float x) {
  const float rest = std::fmod(x, 1.0F);
  return rest < 0 ? rest + 1 : rest;
}

}  // namespace

at::Tensor gray_of(const at::Tensor& pixels) {
  return pixels[0].mul(0.2989).add_(pixels[1], 0.587).add_(pixels[2], 0.114).unsqueeze(0);
}

at::Tensor adjust_brightness(const at::Tensor& pixels, double factor) {
  return pixels.mul(factor).clamp_(0, 255).to(at::kByte);
}

at::Tensor adjust_contrast(const at::Tensor& pixels, double factor) {
  const at::Tensor gray = pixels.size(0) == 3 ? gray_of(pixels).floor_() : pixels.to(at::kFloat);
  // The grays are whole numbers, so their sum in double does not depend on the number of threads. v2 sums in float32:
  // its sum is equal below 2^24, and beyond that it may differ by a bit, depending on v2's threads.
  const auto sum = static_cast<float>(gray.sum(at::kDouble).item<double>());
  return blend(pixels, at::full({1, 1, 1}, sum / static_cast<float>(gray.numel()), at::kFloat), factor);
}

at::Tensor adjust_saturation(const at::Tensor& pixels, double factor) {
  if (pixels.size(0) == 1) return pixels;
  return blend(pixels, gray_of(pixels).floor_(), factor);
}

at::Tensor adjust_hue(const at::Tensor& pixels, double share) {
  if (pixels.size(0) == 1) return pixels;
  const at::Tensor from = pixels.contiguous();
  at::Tensor made = at::empty(from.sizes(), at::kByte);
  const std::int64_t size = from.size(1) * from.size(2);
  const auto* const source = from.const_data_ptr<std::uint8_t>();
  auto* const to = made.mutable_data_ptr<std::uint8_t>();
  const auto turn = static_cast<float>(share);
  const auto scaled = [](std::uint8_t pixel) { return static_cast<float>(pixel) * static_cast<float>(1.0 / 255); };
  for (std::int64_t i = 0; i < size; ++i) {
    Hsv color = hsv_of(scaled(source[i]), scaled(source[i + size]), scaled(source[i + 2 * size]));
    color.hue = positive_fraction(color.hue + turn);
    const std::array<float, 3> rgb = rgb_of(color);
    for (std::int64_t c = 0; c < 3; ++c) {
      // v2's to_dtype multiplies by 256 minus a thousandth, so 1 becomes 255.
      to[i + c * size] = static_cast<std::uint8_t>(rgb[static_cast<std::size_t>(c)] * static_cast<float>(256 - 1e-3));
    }
  }
  return made;
}

}  // namespace ddp::datasets
