#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "config/option/option.h"
#include "datasets/dataset.h"
#include "datasets/image/image_source.h"
#include "datasets/image/mix.h"
#include "datasets/image/pipeline.h"

// The common part of the datasets of images.
namespace ddp::datasets {

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

// Returns the treatment for these options and this context. A prediction leaves out no image: each needs a result.
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
  bool in_memory() const override;
  std::shared_ptr<const MapDataset> for_measuring() const override;
  at::Tensor classes() const override { return source_->targets(); }
  std::string class_name(std::int64_t number) const override;
  std::vector<std::string> left_out() const override;
  std::string sample_path(std::int64_t sample) const override {
    return source_->in_memory() ? "" : source_->name(sample);
  }

  config::Value preprocessing() const override { return {{"classes", source_->classes()}}; }
  config::Value facts() const override { return {{"num_classes", source_->classes().size()}}; }
  config::Value describe() const override { return {{"classes", source_->classes()}}; }
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
