#include "datasets/image/pixel_source.h"

#include <utility>

#include <ATen/ops/max.h>

#include "base/error.h"

namespace ddp::datasets {
namespace {

constexpr const char* kHeldPixels = "pixels";
constexpr const char* kHeldTargets = "targets";

}  // namespace

PixelSource::PixelSource(at::Tensor pixels, at::Tensor targets, std::vector<std::string> classes, std::string file)
    : pixels_(std::move(pixels)), targets_(std::move(targets)), classes_(std::move(classes)), file_(std::move(file)) {}

PixelSource::PixelSource(const NamedTensors& held, std::vector<std::string> classes, std::string file)
    : PixelSource(held_tensor(held, kHeldPixels), held_tensor(held, kHeldTargets), std::move(classes),
                  std::move(file)) {}

Image PixelSource::open(std::int64_t sample, OpenFile&) const {
  const std::int64_t row = pixels_.size(3);
  const std::int64_t plane = row * pixels_.size(2);
  return Image(PixelView{.data = pixels_.const_data_ptr<std::uint8_t>() + sample * plane * pixels_.size(1),
                         .channels = pixels_.size(1),
                         .height = pixels_.size(2),
                         .width = row,
                         .channel_stride = plane,
                         .row_stride = row,
                         .column_stride = 1});
}

std::string PixelSource::name(std::int64_t sample) const { return file_ + ", image " + std::to_string(sample); }

NamedTensors PixelSource::held() const {
  NamedTensors all{{kHeldPixels, pixels_}};
  if (targets_.defined()) all.emplace_back(kHeldTargets, targets_);
  return all;
}

std::vector<std::string> classes_of_training(const Context& context) {
  if (!context.preprocessing.is_object()) return {};
  return context.preprocessing.value("classes", std::vector<std::string>());
}

std::vector<std::string> numbered_classes(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

void require_classes(const at::Tensor& targets, std::int64_t count, const std::string& file) {
  if (targets.numel() == 0) return;
  const auto least = targets.min().item<std::int64_t>();
  const auto greatest = targets.max().item<std::int64_t>();
  if (least >= 0 && greatest < count) return;
  throw usage_error("holds class " + std::to_string(least < 0 ? least : greatest) + ", but the classes are 0 to " +
                        std::to_string(count - 1),
                    file, "the training data define the classes");
}

}  // namespace ddp::datasets
