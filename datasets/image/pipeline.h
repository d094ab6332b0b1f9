#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/value.h"
#include "datasets/image/image.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {

// The end of the error of a batch whose images differ in their shapes.
inline constexpr const char* kUnequalShapes = ": the images of a batch need the same shape";

// The list `transforms` of a dataset, which turns images into a batch of numbers. Images are 8-bit pixels up to the
// first transform of floats, or up to the end; there they become float32 from 0 to 1, as in v2's ToDtype(float32,
// scale=True). Thread-safe.
class Pipeline {
 public:
  // Opens a sample. The image must stay valid until the next call.
  using Open = std::function<Image(std::int64_t sample)>;
  // Names a sample for errors: the path of its file.
  using Name = std::function<std::string(std::int64_t sample)>;

  // `list`: the option's value. `derived`: a validation, test or prediction inherits the training's list, in which
  // Transform::for_evaluation replaces random transforms. Throws ddp::Error (usage) if an argument is invalid, or if a
  // transform of pixels comes after a transform of floats.
  Pipeline(const config::Value& list, std::uint64_t seed, bool derived);

  // Returns the transformed samples (int64 [n], n > 0): float32 [n, c, h, w]. Opens each sample once, in this order.
  // Throws ddp::Error (usage), which names the sample, if a sample cannot be transformed or its shape differs from the
  // first sample's shape.
  at::Tensor batch(const at::Tensor& samples, std::int64_t epoch, const Open& open, const Name& name) const;

  // Returns the random values of a sample, one for each transform: [{"type": "RandomHorizontalFlip", "apply": true},
  // …].
  config::Value draws(Image image, std::int64_t epoch, std::int64_t sample) const;

 private:
  template <class Kind>
  struct Step {
    std::string type;
    std::unique_ptr<Kind> transform;
  };

  void add(const config::Value& entry, bool derived, const std::string& where);
  void keep(const std::string& type, std::unique_ptr<Transform> transform);
  PixelScale scale(std::int64_t channels, Draws& draws) const;

  std::uint64_t seed_;
  std::vector<Step<PixelTransform>> pixel_steps_;
  std::vector<Step<FloatTransform>> float_steps_;
  std::string behind_;      // the first transform of floats in the list
  std::size_t tabled_ = 0;  // number of first float steps that the table contains
};

}  // namespace ddp::datasets
