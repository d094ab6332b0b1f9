#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/option/fields.h"
#include "datasets/image/image.h"

namespace ddp::datasets {

// Arithmetic on the colors of uint8 [c, h, w] with 1 or 3 channels. It follows
// torchvision/transforms/v2/functional/_color.py operation by operation, because the bits depend on their order.

// Returns the gray of an image of 3 channels, float32 [1, h, w], not rounded.
at::Tensor gray_of(const at::Tensor& pixels);

// Returns each channel of a float32 image [c, h, w] convolved with a kernel [height, width], without a border.
at::Tensor convolved(const at::Tensor& image, const at::Tensor& kernel);

// These functions return uint8 [c, h, w]. `factor` is at least 0. With 0, the result is black (brightness), a uniform
// gray of the mean (contrast) or the gray image (saturation); with 1, it is the unchanged image.
at::Tensor adjust_brightness(const at::Tensor& pixels, double factor);
at::Tensor adjust_contrast(const at::Tensor& pixels, double factor);
at::Tensor adjust_saturation(const at::Tensor& pixels, double factor);
// Turns the hue by this share of the color circle, -0.5 to 0.5.
at::Tensor adjust_hue(const at::Tensor& pixels, double share);
// With a factor of 0 the inner pixels are averages with their neighbors; with 1, the image is unchanged.
at::Tensor adjust_sharpness(const at::Tensor& pixels, double factor);
// Keeps the highest bits of each value, 0 to 8 of them.
at::Tensor posterize(const at::Tensor& pixels, std::int64_t bits);
// Inverts the values that are not below the threshold.
at::Tensor solarize(const at::Tensor& pixels, double threshold);
// Stretches the values of each channel to 0 to 255.
at::Tensor autocontrast(const at::Tensor& pixels);
// Makes the values of each channel about equally frequent.
at::Tensor equalize(const at::Tensor& pixels);

// Checks "fill" and "padding_mode" together. Throws ddp::Error (usage) if `fill` is a list and the border is not
// constant.
void check_padding(const std::vector<double>& fill, const std::string& mode);

// Adds a border to an image as v2.functional.pad does: of the color `fill` (one value, or one per channel; fractions
// are truncated) or of the image's pixels. Throws ddp::Error (usage) if the image is too small for a mirror image, or
// if the number of its channels does not fit `fill`.
void pad_image(Image& image, const Border& border, const std::vector<double>& fill, const std::string& mode);

// Resizes an image with the result of v2.functional.resize for a uint8 tensor on a CPU with AVX2. `interpolation` is
// "nearest", "nearest-exact", "bilinear" or "bicubic"; `antialias` applies to the last two.
void resize_image(Image& image, const format::ImageSize& size, const std::string& interpolation, bool antialias);

// The options that the resizing transforms share.
struct ResizeMethod {
  std::string interpolation = "bilinear";
  bool antialias = true;
  void fields(config::Fields& f);
};

}  // namespace ddp::datasets
