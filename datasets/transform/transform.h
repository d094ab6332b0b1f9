#pragma once

#include <memory>
#include <optional>

#include <ATen/core/Tensor.h>

#include "config/registry.h"
#include "datasets/draws.h"
#include "datasets/image/image.h"

// The contract of an image transform. A transform is one file in this folder: a class, a struct of its options, with
// the names and defaults of torchvision.transforms.v2, and a call of transforms().add. In a list, all transforms of
// pixels come before the first transform of floats.
namespace ddp::datasets {

class Transform {
 public:
  virtual ~Transform() = default;
  // Returns the list that replaces this transform in an evaluation or a prediction, each as {"type": …}. Nothing: the
  // transform stays, because it is not random.
  virtual std::optional<config::Value> for_evaluation() const { return std::nullopt; }
};

// A transform of 8-bit pixels, with v2's arithmetic on uint8 tensors on a CPU. Thread-safe.
class PixelTransform : public Transform {
 public:
  // Throws ddp::Error (usage) if the image does not fit the transform.
  virtual void apply(Image& image, Draws& draws, const DrawLog& draw_log) const = 0;
};

// A transform of an image of numbers. Thread-safe.
class FloatTransform : public Transform {
 public:
  // Changes `image`, float32 [c, h, w], contiguous. Throws ddp::Error (usage) if the image does not fit the transform.
  virtual void apply(const at::Tensor& image, Draws& draws, const DrawLog& draw_log) const = 0;
  // True if the result for a number depends only on that number and its channel. Then it is computed once for all 256
  // pixel values. Such a transform draws nothing.
  virtual bool pointwise() const { return false; }
  // The formula of a pointwise transform, for up to three channels, if it is a normalization.
  virtual std::optional<Normalization> normalization() const { return std::nullopt; }
};

using TransformRegistry = config::Registry<std::unique_ptr<Transform>>;
TransformRegistry& transforms();

// The option `transforms` of image datasets: a list of {"type": …}.
config::Option transforms_option();

}  // namespace ddp::datasets
