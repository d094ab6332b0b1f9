#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/option/fields.h"

// Images whose pixels come from other places of the image: uint8 [c, h, w], with the bits of
// torchvision/transforms/v2/functional/_geometry.py.
namespace ddp::datasets {

// The options of transforms that read an image at other places.
struct SamplingOptions {
  std::string interpolation = "nearest";
  config::Value fill = 0.0;
  void fields(config::Fields& f);
};

// How a place gets its color.
struct Sampling {
  explicit Sampling(const SamplingOptions& o);
  // Throws ddp::Error (usage) if the fill has another number of channels.
  void check(std::int64_t channels) const;

  bool bilinear = false;
  std::vector<double> fill;  // of places outside of the image; empty: 0, which bilinear blends with the edge only once
};

// A point of an image, [x, y] in pixels from its upper left corner; nothing: the middle.
using Center = std::optional<std::array<double, 2>>;
config::Option center_option();
Center center_of(const config::Value& center);

struct Affine {
  double angle = 0;                      // in degrees, clockwise
  std::array<double, 2> translate = {};  // in pixels
  double scale = 1;
  std::array<double, 2> shear = {};  // in degrees
};

at::Tensor affine(const at::Tensor& pixels, const Affine& change, const Center& center, const Sampling& sampling);

// Turns counter-clockwise by `degrees`. `expand`: the result holds all pixels.
at::Tensor rotated(const at::Tensor& pixels, double degrees, bool expand, const Center& center,
                   const Sampling& sampling);

// The color of (x, y) is read at ((ax + by + c) / (gx + hy + 1), (dx + ey + f) / (gx + hy + 1)), for the coefficients a
// to h, float32 [8].
at::Tensor perspective(const at::Tensor& pixels, const at::Tensor& coefficients, const Sampling& sampling);

}  // namespace ddp::datasets
