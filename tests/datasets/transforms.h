#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <nlohmann/json.hpp>

#include "datasets/image/image_set.h"

namespace ddp::datasets {

// Pixels without equal neighbors: uint8 [c, h, w].
inline at::Tensor numbered_pixels(std::int64_t channels, std::int64_t height, std::int64_t width) {
  return at::arange(channels * height * width).mul(37).remainder(251).to(at::kByte).view({channels, height, width});
}

// Applies a list of transforms to an image as this sample: float32 [c, h, w].
inline at::Tensor transformed(const config::Value& list, const at::Tensor& pixels, std::int64_t sample = 0,
                              bool derived = false, std::int64_t epoch = 0) {
  const Pipeline pipeline(list, /*seed=*/42, derived);
  const auto open = [&](std::int64_t) { return Image(pixels); };
  const auto name = [](std::int64_t) { return std::string("image.png"); };
  return pipeline.batch(at::arange(sample, sample + 1), epoch, open, name)[0];
}

// Pixels as numbers without normalization.
inline at::Tensor as_numbers(const at::Tensor& pixels) { return pixels.to(at::kFloat).mul_(1.0 / 255); }

// The numbers that a list of transforms draws for an image as this sample.
inline config::Value drawn(const config::Value& list, const at::Tensor& pixels, std::int64_t sample = 0,
                           std::int64_t epoch = 0) {
  return Pipeline(list, /*seed=*/42, /*derived=*/false).draws(Image(pixels), epoch, sample);
}

}  // namespace ddp::datasets
