#pragma once

#include <ATen/core/Tensor.h>

// Arithmetic on the colors of uint8 [c, h, w] with 1 or 3 channels. It follows
// torchvision/transforms/v2/functional/_color.py operation by operation, because the bits depend on their order.
namespace ddp::datasets {

// Returns the gray of an image of 3 channels, float32 [1, h, w], not rounded.
at::Tensor gray_of(const at::Tensor& pixels);

// These functions return uint8 [c, h, w]. `factor` is at least 0. With 0, the result is black (brightness), a uniform
// gray of the mean (contrast) or the gray image (saturation); with 1, it is the unchanged image.
at::Tensor adjust_brightness(const at::Tensor& pixels, double factor);
at::Tensor adjust_contrast(const at::Tensor& pixels, double factor);
at::Tensor adjust_saturation(const at::Tensor& pixels, double factor);
// Turns the hue by this share of the color circle, -0.5 to 0.5.
at::Tensor adjust_hue(const at::Tensor& pixels, double share);

}  // namespace ddp::datasets
