#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>

#include "catch.h"
#include "datasets/transforms.h"
#include "datasets/watched_file.h"

namespace ddp::datasets {
namespace {

// Pixels in the layout of a file: interleaved.
at::Tensor interleaved(const at::Tensor& pixels) { return pixels.permute({1, 2, 0}).contiguous().permute({2, 0, 1}); }

at::Tensor noise_image(std::int64_t channels, std::int64_t height, std::int64_t width) {
  return at::randint(0, 256, {channels, height, width}, at::kByte);
}

at::Tensor by_aten(const at::Tensor& pixels, std::int64_t height, std::int64_t width) {
  return at::_upsample_bilinear2d_aa(pixels.unsqueeze(0), {height, width}, /*align_corners=*/false, std::nullopt,
                                     std::nullopt)
      .squeeze(0);
}

at::Tensor by_image(const at::Tensor& pixels, std::int64_t height, std::int64_t width) {
  Image image(pixels);
  image.resample({.height = height, .width = width});
  return image.pixels();
}

}  // namespace

TEST_CASE("a resampled image has the bits of ATen for all sizes, channels and orders of the pixels") {
  std::mt19937 draw(3);
  const auto side = [&draw](int most) { return std::uniform_int_distribution<std::int64_t>(1, most)(draw); };
  // ATen refuses to resample some images to a single pixel.
  std::vector<std::array<std::int64_t, 4>> sizes = {
      {1, 1, 1, 1},   {1, 1, 9, 7},     {9, 7, 1, 2},     {400, 500, 224, 224}, {28, 28, 32, 32}, {3, 1000, 5, 3},
      {2, 2, 300, 1}, {64, 64, 64, 32}, {64, 64, 32, 64}, {1000, 3, 1, 1000},   {5, 5, 5, 4},     {17, 33, 34, 66}};
  for (int i = 0; i < 300; ++i) sizes.push_back({side(90), side(90), side(90), side(90)});
  for (int i = 0; i < 20; ++i) sizes.push_back({side(600), side(600), side(300), side(300)});
  for (const auto& [from_height, from_width, height, width] : sizes) {
    INFO(from_height << "x" << from_width << " to " << height << "x" << width);
    for (const std::int64_t channels : {1, 3}) {
      const at::Tensor pixels = noise_image(channels, from_height, from_width);
      const at::Tensor expected = by_aten(pixels, height, width);
      CHECK(at::equal(by_image(pixels, height, width), expected));
      CHECK(at::equal(by_image(interleaved(pixels), height, width), expected));
    }
  }
}

TEST_CASE(
    "crops, borders and flips before and after a resampling equal the same operations on its pixels, as numbers too") {
  const at::Tensor pixels = interleaved(noise_image(3, 60, 81));
  for (const bool as_numbers_at_once : {false, true}) {
    Image image(pixels);
    image.crop({.top = 3, .left = 10, .height = 50, .width = 61});
    image.flip_horizontal();
    at::Tensor expected = pixels.narrow(1, 3, 50).narrow(2, 10, 61).flip({2});
    image.resample({.height = 31, .width = 40});
    expected = by_aten(expected.contiguous(), 31, 40);
    image.flip_vertical();
    image.crop({.top = 2, .left = 5, .height = 20, .width = 33});
    expected = expected.flip({1}).narrow(1, 2, 20).narrow(2, 5, 33);
    image.flip_horizontal();
    image.pad({.left = 1, .top = 2, .right = 3, .bottom = 4}, {7, 7, 7});
    image.crop({.top = 1, .left = 0, .height = 25, .width = 36});
    expected = at::constant_pad_nd(expected.flip({2}), {1, 3, 2, 4}, 7).narrow(1, 1, 25).narrow(2, 0, 36);
    if (!as_numbers_at_once) {
      CHECK(at::equal(image.pixels(), expected));
      image.resample({.height = 10, .width = 90});
      image.resample({.height = 44, .width = 3});
      expected = by_aten(by_aten(expected.contiguous(), 10, 90), 44, 3);
      CHECK(at::equal(image.pixels(), expected));
      continue;
    }
    PixelTable thirds = {};
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t i = 0; i < 256; ++i) thirds[c][i] = static_cast<float>(i) / 3 + static_cast<float>(c);
    }
    const at::Tensor numbers = at::empty({3, 25, 36}, at::kFloat);
    image.write(PixelScale(thirds, 3, std::nullopt), numbers.mutable_data_ptr<float>());
    for (std::int64_t c = 0; c < 3; ++c) CHECK(at::equal(numbers[c], expected[c].to(at::kFloat).div(3).add(c)));
  }
}

TEST_CASE("a crop after a resampling decodes only the part of the file that it needs, and nothing for border") {
  const at::Tensor pixels = interleaved(noise_image(3, 100, 200));
  const WatchedFile file(pixels);
  Image image(file);
  image.resample({.height = 50, .width = 100});
  image.crop({.top = 20, .left = 30, .height = 10, .width = 20});
  CHECK(at::equal(image.pixels(), by_aten(pixels, 50, 100).narrow(1, 20, 10).narrow(2, 30, 20)));
  REQUIRE(file.parts.size() == 1);
  CHECK(file.parts[0].height < 24);
  CHECK(file.parts[0].width < 44);
  Image border(file);
  border.resample({.height = 5, .width = 5});
  border.pad({.left = 9, .top = 0, .right = 0, .bottom = 0}, {1, 1, 1});
  border.crop({.top = 0, .left = 0, .height = 5, .width = 9});
  CHECK(border.pixels().eq(1).all().item<bool>());
  CHECK(file.parts.size() == 1);
}

TEST_CASE("numbers from a formula have the bits of numbers from a table, in rows of any length and order") {
  const std::vector<double> means = {0.485, 0.456, 0.406}, deviations = {0.229, 0.224, 0.225};
  for (const std::int64_t channels : {1, 3}) {
    for (const std::int64_t width : {1, 7, 8, 33}) {
      const at::Tensor pixels = noise_image(channels, 5, width);
      const config::Value normalize = {{"type", "Normalize"}, {"mean", means}, {"std", deviations}};
      const config::Value by_half = {{"type", "Normalize"}, {"mean", {0.5}}, {"std", {0.5}}};
      const config::Value flip = {{"type", "RandomHorizontalFlip"}, {"p", 1}};
      const config::Value& used = channels == 3 ? normalize : by_half;
      at::Tensor expected = as_numbers(pixels);
      const auto of = [&](const std::string& key) {
        return at::tensor(used.at(key).get<std::vector<double>>(), at::kFloat).view({-1, 1, 1});
      };
      expected = (expected - of("mean")) / of("std");
      CHECK(at::equal(transformed(config::Value::array({used}), pixels), expected));
      CHECK(at::equal(transformed(config::Value::array({used}), interleaved(pixels)), expected));
      CHECK(at::equal(transformed({flip, used}, pixels), expected.flip({2})));
      // No formula stands for two of them.
      CHECK(at::equal(transformed({used, used}, pixels), (expected - of("mean")) / of("std")));
    }
  }
}

}  // namespace ddp::datasets
