#include "datasets/image/pipeline.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

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

}  // namespace ddp::datasets
