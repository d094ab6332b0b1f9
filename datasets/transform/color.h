#pragma once

#include <ATen/core/Tensor.h>

// Arithmetic on the colors of uint8 [c, h, w] with 1 or 3 channels: that of
// torchvision/transforms/v2/functional/_color.py, operation by operation, since bits depend on their order.
namespace ddp::datasets {

// Returns the gray of an image of 3 channels, float32 [1, h, w], not rounded.
at::Tensor gray_of(const at::Tensor& pixels);

// Returns uint8 [c, h, w] each. Factors of 0 and more: 0 leaves black, gray of the mean, gray; 1 the image as it is.
at::Tensor adjust_brightness(const at::Tensor& pixels, double factor);
at::Tensor adjust_contrast(const at::Tensor& pixels, double factor);
at::Tensor adjust_saturation(const at::Tensor& pixels, double factor);
// Turns the hue by this share of the circle of colors, -0.5 to 0.5.
at::Tensor adjust_hue(const at::Tensor& pixels, double share);

}  // namespace ddp::datasets
