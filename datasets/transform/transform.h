#pragma once

#include <memory>
#include <optional>

#include <ATen/core/Tensor.h>

#include "config/registry.h"
#include "datasets/draws.h"
#include "datasets/image/image.h"
#include "datasets/transform/told.h"

// The contract of an image transform. A transform is one file in this folder: a class, a struct with its options, which
// have the names and defaults of torchvision.transforms.v2, and one call of transforms().add. Transforms of pixels come
// first; behind the first transform of floats only such may follow.
namespace ddp::datasets {

class Transform {
 public:
  virtual ~Transform() = default;
  // Returns the list that takes its place where samples are measured or predicted, each as {"type": …}; nothing: it
  // stays, since it draws nothing.
  virtual std::optional<config::Value> for_evaluation() const { return std::nullopt; }
};

// A transform of 8-bit pixels, with v2's arithmetic on uint8 tensors on a CPU. Used by several threads at once.
class PixelTransform : public Transform {
 public:
  // Throws ddp::Error (usage) where the image does not fit.
  virtual void apply(Image& image, Draws& draws, const Told& told) const = 0;
};

// A transform of an image of numbers. Used by several threads at once.
class FloatTransform : public Transform {
 public:
  // Changes `image`, float32 [c, h, w], contiguous. Throws ddp::Error (usage) where it does not fit.
  virtual void apply(const at::Tensor& image, Draws& draws, const Told& told) const = 0;
  // Does what becomes of a number depend on that number and its channel alone? Then it is worked out once for all 256
  // pixels. Such a transform draws nothing.
  virtual bool pointwise() const { return false; }
  // The formula of a pointwise transform, where this is it; for up to three channels.
  virtual std::optional<Normalization> normalization() const { return std::nullopt; }
};

using TransformRegistry = config::Registry<std::unique_ptr<Transform>>;
TransformRegistry& transforms();

// The option `transforms` of a dataset of images, whose value is a list of {"type": …}.
config::Option transforms_option();

}  // namespace ddp::datasets
