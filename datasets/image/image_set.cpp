#include "datasets/image/image_set.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"

namespace ddp::datasets {
namespace {

// "3 x 32 x 40"
std::string shape_of(std::int64_t channels, std::int64_t height, std::int64_t width) {
  return std::to_string(channels) + " x " + std::to_string(height) + " x " + std::to_string(width);
}

// Adds the sample's name to an error of a transform or a decoder.
Error named_after(const Error& error, const std::string& sample) {
  const std::string where = error.where().empty() || error.where() == sample ? sample : sample + ": " + error.where();
  return Error(error.fault(), error.summary(), where, error.remedy());
}

// Throws if an image's shape differs from the shape of the batch.
void check_shape(const Image& image, const at::Tensor& batch, const std::string& first) {
  if (image.channels() == batch.size(1) && image.height() == batch.size(2) && image.width() == batch.size(3)) return;
  throw usage_error("is " + shape_of(image.channels(), image.height(), image.width()) + ", but " + first + " is " +
                        shape_of(batch.size(1), batch.size(2), batch.size(3)) + kUnequalShapes,
                    "", "add {type = \"Resize\", size = [height, width]} to transforms, or a Resize and a CenterCrop");
}

constexpr const char* kSkip = "skip";

}  // namespace

Pipeline::Pipeline(const config::Value& list, std::uint64_t seed, bool derived) : seed_(seed) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string where = "transforms[" + std::to_string(i) + "] " + list[i].at("type").get<std::string>();
    add(list[i], derived, where);
  }
  const auto is_pointwise = [](const auto& step) { return step.transform->pointwise(); };
  const auto behind = std::find_if_not(float_steps_.begin(), float_steps_.end(), is_pointwise);
  tabled_ = static_cast<std::size_t>(behind - float_steps_.begin());
}

void Pipeline::add(const config::Value& entry, bool derived, const std::string& where) {
  const std::string type = entry.at("type");
  std::unique_ptr<Transform> made;
  try {
    made = transforms().build(type, entry);
  } catch (const Error& error) {
    throw usage_error(error.where().empty() ? error.summary() : "\"" + error.where() + "\" " + error.summary(), where,
                      error.remedy());
  }
  // An evaluation refuses the same lists as training.
  const bool is_of_floats = dynamic_cast<const FloatTransform*>(made.get()) != nullptr;
  if (!is_of_floats && !behind_.empty()) {
    throw usage_error("comes after " + behind_ + ", which turns pixels into floats", where, "put it before " + behind_);
  }
  if (is_of_floats && behind_.empty()) behind_ = type;
  if (const auto list = made->for_evaluation(); derived && list) {
    for (const config::Value& each : *list) keep(each.at("type"), transforms().build(each.at("type"), each));
    return;
  }
  keep(type, std::move(made));
}

void Pipeline::keep(const std::string& type, std::unique_ptr<Transform> transform) {
  if (dynamic_cast<const FloatTransform*>(transform.get())) {
    float_steps_.push_back({type, std::unique_ptr<FloatTransform>(static_cast<FloatTransform*>(transform.release()))});
  } else {
    pixel_steps_.push_back({type, std::unique_ptr<PixelTransform>(static_cast<PixelTransform*>(transform.release()))});
  }
}

// Tabulates the float of each pixel value: applies v2's ToDtype(float32, scale=True) and then the first, pointwise,
// transforms of floats to an image that has each value once.
PixelScale Pipeline::scale(std::int64_t channels, Draws& draws) const {
  const at::Tensor row = at::arange(256, at::kByte).to(at::kFloat).mul_(1.0 / 255);
  const at::Tensor image = row.view({1, 16, 16}).repeat({channels, 1, 1});
  for (std::size_t i = 0; i < tabled_; ++i) float_steps_[i].transform->apply(image, draws, DrawLog());
  PixelTable table = {};
  const auto* from = image.const_data_ptr<float>();
  for (std::int64_t c = 0; c < channels; ++c, from += 256)
    std::copy_n(from, 256, table[static_cast<std::size_t>(c)].data());
  if (tabled_ == 0) return {table, channels, Normalization()};
  if (tabled_ == 1) return {table, channels, float_steps_.front().transform->normalization()};
  return {table, channels, std::nullopt};
}

at::Tensor Pipeline::batch(const at::Tensor& samples, std::int64_t epoch, const Open& open, const Name& name) const {
  const at::Tensor indices = samples.contiguous();
  const auto* const numbers = indices.const_data_ptr<std::int64_t>();
  at::Tensor batch;
  PixelScale values;
  for (std::int64_t i = 0; i < indices.size(0); ++i) {
    const std::int64_t sample = numbers[i];
    try {
      Image image = open(sample);
      Draws draws(seed_, epoch, sample);
      for (const auto& step : pixel_steps_) step.transform->apply(image, draws, DrawLog());
      if (i == 0) {
        batch = at::empty({indices.size(0), image.channels(), image.height(), image.width()}, at::kFloat);
        values = scale(image.channels(), draws);
      }
      check_shape(image, batch, i == 0 ? "" : name(numbers[0]));
      image.write(values, batch.mutable_data_ptr<float>() + i * batch.stride(0));
      for (std::size_t s = tabled_; s < float_steps_.size(); ++s) {
        float_steps_[s].transform->apply(batch[i], draws, DrawLog());
      }
    } catch (const Error& error) {
      throw named_after(error, name(sample));
    }
  }
  return batch;
}

config::Value Pipeline::draws(Image image, std::int64_t epoch, std::int64_t sample) const {
  Draws draws(seed_, epoch, sample);
  config::Value all = config::Value::array();
  const auto listen = [&all](const std::string& type) {
    all.push_back({{"type", type}});
    return DrawLog(all.back());
  };
  for (const auto& step : pixel_steps_) step.transform->apply(image, draws, listen(step.type));
  const at::Tensor numbers = at::empty({image.channels(), image.height(), image.width()}, at::kFloat);
  image.write(scale(image.channels(), draws), numbers.mutable_data_ptr<float>());
  for (std::size_t i = 0; i < float_steps_.size(); ++i) {
    const DrawLog draw_log = listen(float_steps_[i].type);
    // The table contains the first ones.
    if (i >= tabled_) float_steps_[i].transform->apply(numbers, draws, draw_log);
  }
  return all;
}

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
          .skips_bad = skips_bad,
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
    if (error.fault() == Fault::training) throw usage_error(error.summary(), error.where(), error.remedy());
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
} catch (const Error& error) {
  if (error.fault() == Fault::training) throw;
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
                   ? "name only files of images, or leave such files out: --set dataset.on_bad=skip"
                   : "replace the file, convert it to PNG if it is an image of another format, or leave "
                     "such files out: --set dataset.on_bad=skip");
}

Batch ImageSet::at_place(Batch batch, const MicroBatchPosition& place) const {
  mixer_.mix(batch, place, static_cast<std::int64_t>(source_->classes().size()));
  return batch;
}

Content ImageSet::content(std::int64_t sample) const {
  Content found;
  if (source_->targets().defined()) found.target = class_name(source_->targets()[sample].item<std::int64_t>());
  if (!source_->in_memory()) {
    const std::filesystem::path file = source_->name(sample);
    found.input = (file.parent_path().filename() / file.filename()).string();
    return found;
  }
  OpenFile memory;
  const at::Tensor pixels = source_->open(sample, memory).pixels().contiguous();
  found.input.assign(static_cast<const char*>(pixels.const_data_ptr()), pixels.nbytes());
  return found;
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
