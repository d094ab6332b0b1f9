#include "datasets/image/image_set.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"

namespace ddp::datasets {
namespace {

constexpr const char* kSkip = "skip";

}  // namespace

void ImageOptions::fields(config::Fields& f) {
  f(transforms_option(), transforms);
  f(mix_option(), mix);
}

void OnBadOption::fields(config::Fields& f) {
  f({.name = "on_bad",
     .doc = "a file that does not decode: \"error\" ends the run, \"skip\" leaves it out of its batch and lists it",
     .choices = {"error", kSkip}},
    on_bad);
}

bool OnBadOption::skips() const { return on_bad == kSkip; }

ImageTreatment treatment_of(const ImageOptions& options, const Context& context, bool skips_bad) {
  const bool trains = context.role == Role::train;
  return {.transforms = options.transforms,
          .mix = options.mix,
          .seed = context.seed,
          .derived = !trains && !context.own_transforms,
          .trains = trains,
          .skips_bad = skips_bad && context.role != Role::prediction,
          .predicts = context.role == Role::prediction};
}

ImageSet::ImageSet(std::shared_ptr<const ImageSource> source, ImageTreatment treatment)
    : source_(std::move(source)),
      treatment_(std::move(treatment)),
      pipeline_(treatment_.transforms, treatment_.seed, treatment_.derived),
      mixer_(treatment_.trains ? treatment_.mix : config::Value::array(), treatment_.seed) {}

Batch ImageSet::gather(const at::Tensor& indices, std::int64_t epoch) const {
  const auto batch_of = [&](const at::Tensor& samples) -> Batch {
    // A prediction has no classes; nothing reads its targets.
    const at::Tensor& targets = source_->targets();
    return {images(samples, epoch),
            targets.defined() ? targets.index_select(0, samples) : at::zeros({samples.size(0)}, at::kLong)};
  };
  try {
    return batch_of(indices);
  } catch (const Error& error) {
    if (!treatment_.skips_bad) throw with_remedy(error, indices);
    const at::Tensor rest = without_bad(indices, epoch);
    // Each image alone is usable, but their shapes differ.
    if (rest.size(0) == indices.size(0)) throw;
    if (rest.numel() == 0) return {at::empty({0}), at::empty({0}, at::kLong)};
    return batch_of(rest);
  }
}

at::Tensor ImageSet::images(const at::Tensor& indices, std::int64_t epoch) const {
  OpenFile memory;
  return pipeline_.batch(
      indices, epoch, [&](std::int64_t sample) { return source_->open(sample, memory); },
      [&](std::int64_t sample) { return source_->name(sample); });
}

at::Tensor ImageSet::without_bad(const at::Tensor& indices, std::int64_t epoch) const {
  std::vector<std::int64_t> good;
  const auto* index = indices.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < indices.size(0); ++i) {
    if (is_usable(index[i], epoch)) good.push_back(index[i]);
  }
  if (good.empty() && treatment_.trains) {
    throw usage_error("does not decode, like every other image of its batch of " + std::to_string(indices.size(0)) +
                          ": the batch is empty",
                      source_->name(index[0]),
                      "convert the images to PNG if this program does not read their format; else replace the damaged "
                      "files, or set a larger batch_size");
  }
  return at::tensor(good, at::kLong);
}

// Tries each sample alone, so that the result depends neither on other samples nor on the number of ranks. An image
// that decodes as a whole is usable: its error comes from a transform and is thrown.
bool ImageSet::is_usable(std::int64_t sample, std::int64_t epoch) const {
  try {
    images(at::tensor({sample}, at::kLong), epoch);
    return true;
  } catch (const Error&) {
    if (decodes(sample)) throw;
    const std::scoped_lock lock(mutex_);
    left_out_.insert(sample);
    return false;
  }
}

bool ImageSet::decodes(std::int64_t sample) const try {
  OpenFile memory;
  source_->open(sample, memory).pixels();
  return true;
} catch (const Error&) {
  return false;
}

bool ImageSet::all_decode(const at::Tensor& indices) const {
  const auto* index = indices.const_data_ptr<std::int64_t>();
  return std::all_of(index, index + indices.numel(), [&](std::int64_t sample) { return decodes(sample); });
}

Error ImageSet::with_remedy(const Error& error, const at::Tensor& indices) const {
  if (!error.remedy().empty() || all_decode(indices)) return error;
  return Error(error.fault(), error.summary(), error.where(),
               treatment_.predicts
                   ? "name only files of images"
                   : "replace the file, convert it to PNG if it is an image of another format, or leave "
                     "such files out: --set dataset.on_bad=skip");
}

Batch ImageSet::at_place(Batch batch, const MicroBatchPosition& place) const {
  mixer_.mix(batch, place, static_cast<std::int64_t>(source_->classes().size()));
  return batch;
}

bool ImageSet::in_memory() const { return source_->in_memory() && treatment_.transforms.empty() && !mixer_.mixes(); }

std::shared_ptr<const MapDataset> ImageSet::for_measuring() const {
  ImageTreatment measured = treatment_;
  measured.derived = true;
  measured.trains = false;
  return std::make_shared<ImageSet>(source_, std::move(measured));
}

std::string ImageSet::class_name(std::int64_t number) const {
  const auto& names = source_->classes();
  return number >= 0 && number < std::ssize(names) ? names[static_cast<std::size_t>(number)] : std::to_string(number);
}

std::vector<std::string> ImageSet::left_out() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  for (const std::int64_t sample : left_out_) names.push_back(source_->name(sample));
  return names;
}

config::Value ImageSet::draws(std::int64_t sample, std::int64_t epoch) const {
  OpenFile memory;
  return pipeline_.draws(source_->open(sample, memory), epoch, sample);
}

}  // namespace ddp::datasets
