#include "datasets/transform/resizing.h"

#include <optional>

#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/_upsample_nearest_exact2d.h>
#include <ATen/ops/upsample_bicubic2d.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_nearest2d.h>

#include "datasets/transform/arguments.h"

namespace ddp::datasets {
namespace {

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
