#include "datasets/transform/functional.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/_upsample_nearest_exact2d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/upsample_bicubic2d.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_nearest2d.h>

#include "base/error.h"
#include "datasets/transform/arguments.h"

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

// Replaces the values of each channel by those of a table, which table_of makes from the numbers of pixels with each
// value.
template <class TableOf>
at::Tensor mapped(const at::Tensor& pixels, const TableOf& table_of) {
  const at::Tensor from = pixels.contiguous();
  at::Tensor made = at::empty(from.sizes(), at::kByte);
  const std::int64_t size = from.size(1) * from.size(2);
  for (std::int64_t c = 0; c < from.size(0); ++c) {
    const auto* const source = from.const_data_ptr<std::uint8_t>() + c * size;
    std::array<std::int64_t, 256> counts = {};
    for (std::int64_t i = 0; i < size; ++i) ++counts[source[i]];
    const std::array<std::uint8_t, 256> table = table_of(counts);
    std::transform(source, source + size, made.mutable_data_ptr<std::uint8_t>() + c * size,
                   [&](std::uint8_t pixel) { return table[pixel]; });
  }
  return made;
}

// Returns for each place of the padded row the index of its pixel in the row of `size` pixels (int64).
at::Tensor padded_places(std::int64_t before, std::int64_t size, std::int64_t after, const std::string& mode) {
  const std::int64_t most = std::max(before, after);
  if ((mode == "reflect" && most >= size) || (mode == "symmetric" && most > size)) {
    throw usage_error("an image of " + std::to_string(size) + " pixels is too small to be padded by " +
                          std::to_string(most) + " with padding_mode = \"" + mode + "\"",
                      "", "pad less, or use \"constant\" or \"edge\"");
  }
  const at::Tensor places = at::empty({before + size + after}, at::kLong);
  auto* next = places.mutable_data_ptr<std::int64_t>();
  const std::int64_t repeated = mode == "symmetric" ? 1 : 0;  // 1: the mirror image contains the edge pixel
  for (std::int64_t at = -before; at < size + after; ++at) {
    std::int64_t from = std::clamp<std::int64_t>(at, 0, size - 1);
    if (mode != "edge" && at < 0) from = -at - repeated;
    if (mode != "edge" && at >= size) from = 2 * (size - 1) - at + repeated;
    *next++ = from;
  }
  return places;
}

// Returns the pixels as a batch of one. Interleaved pixels get strides that ATen recognizes as channels_last, because
// it resizes such tensors without a copy.
at::Tensor batch_of_one(const at::Tensor& pixels) {
  const std::int64_t c = pixels.size(0);
  const std::int64_t h = pixels.size(1);
  const std::int64_t w = pixels.size(2);
  const bool is_interleaved = pixels.stride(0) == 1 && pixels.stride(2) == c && pixels.stride(1) == c * w;
  if (c == 1 || !is_interleaved) return pixels.unsqueeze(0);
  return pixels.as_strided({1, c, h, w}, {c * h * w, 1, c * w, c});
}

// Bilinear is never antialiased here: resize_image leaves that case to Image.
at::Tensor resized(const at::Tensor& batch, at::IntArrayRef size, const std::string& interpolation, bool antialias) {
  const std::optional<double> from_sizes;
  if (interpolation == "nearest") return at::upsample_nearest2d(batch, size, from_sizes, from_sizes);
  if (interpolation == "nearest-exact") return at::_upsample_nearest_exact2d(batch, size, from_sizes, from_sizes);
  constexpr bool kAlignCorners = false;
  if (interpolation == "bicubic") {
    return antialias ? at::_upsample_bicubic2d_aa(batch, size, kAlignCorners, from_sizes, from_sizes)
                     : at::upsample_bicubic2d(batch, size, kAlignCorners, from_sizes, from_sizes);
  }
  return at::upsample_bilinear2d(batch, size, kAlignCorners, from_sizes, from_sizes);
}

}  // namespace

at::Tensor gray_of(const at::Tensor& pixels) {
  return pixels[0].mul(0.2989).add_(pixels[1], 0.587).add_(pixels[2], 0.114).unsqueeze(0);
}

at::Tensor convolved(const at::Tensor& image, const at::Tensor& kernel) {
  const std::int64_t c = image.size(0);
  return at::conv2d(image, kernel.expand({c, 1, kernel.size(0), kernel.size(1)}), {}, 1, at::IntArrayRef(0), 1, c);
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

at::Tensor adjust_sharpness(const at::Tensor& pixels, double factor) {
  if (pixels.size(1) <= 2 || pixels.size(2) <= 2) return pixels;
  const at::Tensor kernel = at::full({3, 3}, 1.0 / 13, at::kFloat);
  kernel[1][1].fill_(5.0 / 13);
  const at::Tensor made = pixels.to(at::kFloat);
  const at::Tensor inner = made.narrow(1, 1, pixels.size(1) - 2).narrow(2, 1, pixels.size(2) - 2);
  inner.add_(convolved(made, kernel).round_().sub_(inner), 1 - factor);
  return made.clamp(0, 255).to(at::kByte);
}

at::Tensor posterize(const at::Tensor& pixels, std::int64_t bits) { return pixels.bitwise_and(256 - (256 >> bits)); }

at::Tensor solarize(const at::Tensor& pixels, double threshold) {
  return pixels.bitwise_xor(pixels.ge(threshold).to(at::kByte).mul_(255));
}

at::Tensor autocontrast(const at::Tensor& pixels) {
  return mapped(pixels, [](const std::array<std::int64_t, 256>& counts) {
    const auto is_used = [](std::int64_t count) { return count > 0; };
    const auto least = std::find_if(counts.begin(), counts.end(), is_used) - counts.begin();
    const auto greatest = counts.rend() - std::find_if(counts.rbegin(), counts.rend(), is_used) - 1;
    const float scale = static_cast<float>(greatest - least) * static_cast<float>(1.0 / 255);
    std::array<std::uint8_t, 256> table = {};
    for (std::int64_t i = least; i <= greatest; ++i) {
      const float value = least == greatest ? static_cast<float>(i) : static_cast<float>(i - least) / scale;
      table[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(std::min(value, 255.0F));
    }
    return table;
  });
}

at::Tensor equalize(const at::Tensor& pixels) {
  return mapped(pixels, [&](const std::array<std::int64_t, 256>& counts) {
    const std::int64_t of_greatest = *std::find_if(counts.rbegin(), counts.rend(), [](auto n) { return n > 0; });
    const std::int64_t step = (pixels.size(1) * pixels.size(2) - of_greatest) / 255;
    std::array<std::uint8_t, 256> table = {};
    std::int64_t below = 0;  // pixels with a smaller value
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::int64_t value = step == 0 ? static_cast<std::int64_t>(i) : (below + step / 2) / step;
      table[i] = static_cast<std::uint8_t>(std::min<std::int64_t>(value, 255));
      below += counts[i];
    }
    return table;
  });
}

void check_padding(const std::vector<double>& fill, const std::string& mode) {
  if (mode == "constant" || fill.size() == 1) return;
  throw usage_error("a list needs padding_mode = \"constant\", not \"" + mode + "\"", "fill");
}

void pad_image(Image& image, const Border& border, const std::vector<double>& fill, const std::string& mode) {
  if (mode == "constant") {
    check_channels(fill, image.channels(), "fill");
    std::array<std::uint8_t, 3> color = {};
    for (std::size_t c = 0; c < color.size(); ++c) {
      color[c] = static_cast<std::uint8_t>(fill[std::min(c, fill.size() - 1)]);
    }
    image.pad(border, color);
    return;
  }
  const at::Tensor rows = padded_places(border.top, image.height(), border.bottom, mode);
  const at::Tensor columns = padded_places(border.left, image.width(), border.right, mode);
  image.replace(at::index_select(at::index_select(image.pixels(), 1, rows), 2, columns));
}

void ResizeMethod::fields(config::Fields& f) {
  f(interpolation_option({"nearest", "nearest-exact", "bilinear", "bicubic"}), interpolation);
  f({.name = "antialias", .doc = "smooth an image that becomes smaller; for bilinear and bicubic"}, antialias);
}

void resize_image(Image& image, const format::ImageSize& size, const std::string& interpolation, bool antialias) {
  if (size.height == image.height() && size.width == image.width()) return;
  if (interpolation == "bilinear" && antialias) return image.resample(size);
  const at::Tensor batch = batch_of_one(image.pixels());
  image.replace(resized(batch, {size.height, size.width}, interpolation, antialias).squeeze(0));
}

}  // namespace ddp::datasets
