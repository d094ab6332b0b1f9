#include <algorithm>
#include <vector>

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/flip.h>

#include "catch.h"
#include "datasets/transforms.h"
#include "datasets/watched_file.h"

namespace ddp::datasets {
namespace {

TEST_CASE("crops, borders and flips of an image in any order equal the same operations on its pixels") {
  const at::Tensor pixels = numbered_pixels(3, 9, 7);
  const WatchedFile file(pixels);
  for (Image image : {Image(pixels), Image(file)}) {
    at::Tensor expected = pixels;
    image.crop({.top = 1, .left = 2, .height = 7, .width = 4});
    expected = expected.narrow(1, 1, 7).narrow(2, 2, 4);
    image.flip_horizontal();
    expected = expected.flip({2});
    image.pad({.left = 1, .top = 2, .right = 3, .bottom = 0}, {9, 9, 9});
    expected = at::constant_pad_nd(expected, {1, 3, 2, 0}, 9);
    image.flip_vertical();
    expected = expected.flip({1});
    image.crop({.top = 3, .left = 0, .height = 6, .width = 6});
    expected = expected.narrow(1, 3, 6).narrow(2, 0, 6);
    image.flip_horizontal();
    expected = expected.flip({2});
    image.pad({.left = 0, .top = 1, .right = 2, .bottom = 1}, {9, 9, 9});
    expected = at::constant_pad_nd(expected, {0, 2, 1, 1}, 9);
    image.pad({.left = 1, .top = 1, .right = 1, .bottom = 1}, {0, 0, 0});
    expected = at::constant_pad_nd(expected, {1, 1, 1, 1}, 0);
    CHECK(image.height() == expected.size(1));
    CHECK(image.width() == expected.size(2));
    CHECK(at::equal(image.pixels(), expected));
    CHECK(at::equal(image.pixels(), expected));  // the pixels stay unchanged
  }
}

TEST_CASE("a crop of only border is the border and decodes nothing") {
  const WatchedFile file(numbered_pixels(3, 4, 4));
  Image image(file);
  image.pad({.left = 0, .top = 5, .right = 0, .bottom = 0}, {1, 2, 3});
  image.flip_vertical();
  image.crop({.top = 4, .left = 1, .height = 3, .width = 2});
  const at::Tensor pixels = image.pixels();
  for (std::int64_t c = 0; c < 3; ++c) CHECK(pixels[c].eq(c + 1).all().item<bool>());
  CHECK(file.parts.empty());
}

TEST_CASE("only the part of a file that its transforms need is decoded, and only once") {
  const at::Tensor pixels = numbered_pixels(3, 20, 30);
  const WatchedFile file(pixels);
  const Pipeline pipeline({{{"type", "RandomHorizontalFlip"}, {"p", 1}},
                           {{"type", "CenterCrop"}, {"size", {10, 12}}},
                           {{"type", "Resize"}, {"size", 5}}},
                          42, false);
  const auto name = [](std::int64_t) { return std::string(); };
  pipeline.batch(
      at::arange(1), 0, [&](std::int64_t) { return Image(file); }, name);
  REQUIRE(file.parts.size() == 1);
  CHECK(file.parts[0].top == 5);
  CHECK(file.parts[0].left == 9);
  CHECK(file.parts[0].height == 10);
  CHECK(file.parts[0].width == 12);
}

TEST_CASE("pixels in memory with any strides enter the batch unchanged") {
  const at::Tensor pixels = numbered_pixels(3, 5, 6);
  const at::Tensor interleaved = pixels.permute({1, 2, 0}).contiguous();
  Image image(PixelView{.data = interleaved.const_data_ptr<std::uint8_t>(),
                        .channels = 3,
                        .height = 5,
                        .width = 6,
                        .channel_stride = 1,
                        .row_stride = 18,
                        .column_stride = 3});
  CHECK(at::equal(image.pixels(), pixels));
  CHECK(at::equal(transformed(config::Value::array(), interleaved.permute({2, 0, 1})), as_numbers(pixels)));
}

}  // namespace
}  // namespace ddp::datasets
