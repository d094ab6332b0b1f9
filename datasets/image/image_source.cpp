#include "datasets/image/image_source.h"

#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/max.h>

#include "base/error.h"

namespace ddp::datasets {
namespace {

constexpr const char* kHeldTargets = "targets";
constexpr const char* kHeldPixels = "pixels";

}  // namespace

NamedTensors ImageSource::held() const {
  NamedTensors all = held_images();
  if (targets_.defined()) all.emplace_back(kHeldTargets, targets_);
  return all;
}

Image read_image(const format::Bytes& file, const std::string& name, OpenFile& memory, std::int64_t offset,
                 std::optional<std::int64_t> size) {
  memory.file.reset();
  try {
    memory.bytes.resize(static_cast<std::size_t>(size.value_or(file.size())));
    file.read(offset, std::ssize(memory.bytes), memory.bytes.data());
  } catch (const Error& error) {
    throw usage_error(error.summary(), name, error.remedy());
  }
  memory.file = format::open_image(memory.bytes, name);
  return Image(*memory.file);
}

NameList::NameList(const std::vector<std::string>& names) {
  std::int64_t size = 0;
  ends_ = at::empty({static_cast<std::int64_t>(names.size())}, at::kLong);
  auto* end = ends_.mutable_data_ptr<std::int64_t>();
  for (const std::string& name : names) *end++ = size += static_cast<std::int64_t>(name.size());
  bytes_ = at::empty({size}, at::kByte);
  auto* to = bytes_.mutable_data_ptr<std::uint8_t>();
  for (const std::string& name : names) {
    std::memcpy(to, name.data(), name.size());
    to += name.size();
  }
}

std::string_view NameList::operator[](std::int64_t i) const {
  const auto* ends = ends_.const_data_ptr<std::int64_t>();
  const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
  return {reinterpret_cast<const char*>(bytes_.const_data_ptr<std::uint8_t>()) + begin,
          static_cast<std::size_t>(ends[i] - begin)};
}

PixelSource::PixelSource(const NamedTensors& held, std::vector<std::string> classes, std::string file)
    : PixelSource(tensor_named(kHeldPixels, held), tensor_named(kHeldTargets, held), std::move(classes),
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

NamedTensors PixelSource::held_images() const { return {{kHeldPixels, pixels_}}; }

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
