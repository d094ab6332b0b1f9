#pragma once

#include <string>

#include "config/option/option.h"
#include "datasets/image/image.h"

namespace ddp::datasets {

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
