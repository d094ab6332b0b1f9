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

// From images to a batch of numbers: the list `transforms` of a dataset. Images are pixels of 8 bits up to the first
// transform of floats, or up to the end; there they become float32 of 0 to 1, as v2's ToDtype(float32, scale=True) has
// it. Used by several threads at once.
class Pipeline {
 public:
  // Opens a sample, which has to stay until the next one is opened.
  using Open = std::function<Image(std::int64_t sample)>;
  // Names a sample for errors: the path of its file.
  using Name = std::function<std::string(std::int64_t sample)>;

  // `list`: the option's value. `derived`: validation, test or prediction inherits the list of the training, where
  // each transform that draws gives way to what it becomes for evaluation. Throws ddp::Error (usage) where an argument
  // does not fit, or a transform of pixels stands behind one of floats.
  Pipeline(const config::Value& list, std::uint64_t seed, bool derived);

  // Returns the samples (int64 [n], n > 0), transformed: float32 [n, c, h, w]. They are opened in this order, each
  // once. Throws ddp::Error (usage), which names the sample, where one cannot be transformed, or its shape is not that
  // of the first.
  at::Tensor batch(const at::Tensor& samples, std::int64_t epoch, const Open& open, const Name& name) const;

  // Returns what is drawn for a sample, a value for each transform:
  // [{"type": "RandomHorizontalFlip", "apply": true}, …].
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
  std::size_t tabled_ = 0;  // the first float steps, which the table holds
};

}  // namespace ddp::datasets
