#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/option/fields.h"
#include "config/option/value.h"
#include "datasets/dataset.h"
#include "datasets/image/image.h"
#include "datasets/image/image_source.h"
#include "datasets/image/mix.h"
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

// The common part of the datasets of images.

// The options of all datasets of images.
struct ImageOptions {
  config::Value transforms;
  config::Value mix;
  void fields(config::Fields& f);
};

// The option `on_bad` of datasets whose images are files.
struct OnBadOption {
  std::string on_bad = "error";
  void fields(config::Fields& f);
  bool skips() const;
};

// Options of an ImageSet: transforms, mixing, and the handling of images that do not decode.
struct ImageTreatment {
  config::Value transforms;
  config::Value mix;
  std::uint64_t seed = 0;
  bool derived = false;    // the transforms are the training's, for an evaluation without transforms of its own
  bool trains = true;      // mixes, and needs at least one sample in each batch
  bool skips_bad = false;  // leaves an image that does not decode out of its batch
  bool predicts = false;   // each image needs a result
};

// Returns the treatment for these options and this context.
ImageTreatment treatment_of(const ImageOptions& options, const Context& context, bool skips_bad = false);

// Images of a source, transformed: inputs float32 [n, c, h, w], targets int64 [n].
class ImageSet final : public MapDataset {
 public:
  ImageSet(std::shared_ptr<const ImageSource> source, ImageTreatment treatment);

  std::int64_t size() const override { return source_->size(); }
  // If images that do not decode are left out, a batch may have fewer samples than indices, and none in an evaluation.
  // Throws ddp::Error (usage) if a training batch would be empty, or if an image does not decode and may not be left
  // out.
  Batch gather(const at::Tensor& indices, std::int64_t epoch) const override;
  // Mixes the samples of a batch if the option `mix` is set: targets become float32 [n, classes].
  Batch at_place(Batch batch, const MicroBatchPosition& place) const override;
  // The name of the sample's file and of its folder, so that the data may move; or the pixels.
  Content content(std::int64_t sample) const override;
  bool in_memory() const override;
  std::shared_ptr<const MapDataset> for_measuring() const override;
  at::Tensor classes() const override { return source_->targets(); }
  std::string class_name(std::int64_t number) const override;
  std::vector<std::string> left_out() const override;
  std::vector<std::string> warnings() const override { return source_->warnings(); }
  std::string sample_path(std::int64_t sample) const override {
    return source_->in_memory() ? "" : source_->name(sample);
  }

  std::vector<std::int64_t> block_begins() const override { return source_->block_begins(); }
  std::int64_t block_bytes() const override { return source_->block_bytes(); }
  config::Value preprocessing() const override { return {{"classes", source_->classes()}}; }
  config::Value facts() const override { return {{"num_classes", source_->classes().size()}}; }
  config::DatasetDescription describe() const override { return {.classes = source_->classes()}; }
  NamedTensors held() const override { return source_->held(); }

  config::Value draws(std::int64_t sample, std::int64_t epoch) const override;

 private:
  at::Tensor images(const at::Tensor& indices, std::int64_t epoch) const;
  at::Tensor without_bad(const at::Tensor& indices, std::int64_t epoch) const;
  bool is_usable(std::int64_t sample, std::int64_t epoch) const;
  // Does the image decode as a whole, before the transforms?
  bool decodes(std::int64_t sample) const;
  bool all_decode(const at::Tensor& indices) const;
  // Adds the remedy to the error of an image that does not decode.
  Error with_remedy(const Error& error, const at::Tensor& indices) const;

  const std::shared_ptr<const ImageSource> source_;
  const ImageTreatment treatment_;
  const Pipeline pipeline_;
  const Mixer mixer_;
  mutable std::mutex mutex_;  // guards left_out_
  mutable std::set<std::int64_t> left_out_;
};

}  // namespace ddp::datasets
