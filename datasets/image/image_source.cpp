#include "datasets/image/image_source.h"

#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/max.h>

#include "base/error.h"
#include "record/file/input_file.h"

namespace ddp::datasets {
namespace {

constexpr const char* kHeldNames = "names";
constexpr const char* kHeldEnds = "ends";
constexpr const char* kHeldClasses = "targets";

constexpr const char* kHeldPixels = "pixels";
constexpr const char* kHeldTargets = "targets";

}  // namespace

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

NameList::NameList(at::Tensor bytes, at::Tensor ends) : bytes_(std::move(bytes)), ends_(std::move(ends)) {}

std::string_view NameList::operator[](std::int64_t i) const {
  const auto* ends = ends_.const_data_ptr<std::int64_t>();
  const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
  return {reinterpret_cast<const char*>(bytes_.const_data_ptr<std::uint8_t>()) + begin,
          static_cast<std::size_t>(ends[i] - begin)};
}

FileList held_files(const NamedTensors& held, std::filesystem::path folder, std::vector<std::string> classes) {
  return {.folder = std::move(folder),
          .names = NameList(held_tensor(held, kHeldNames), held_tensor(held, kHeldEnds)),
          .targets = held_tensor(held, kHeldClasses),
          .classes = std::move(classes)};
}

Image FileSource::open(std::int64_t sample, OpenFile& memory) const {
  const std::string file = name(sample);
  memory.file.reset();
  try {
    const record::InputFile in(file);
    memory.bytes.resize(in.size());
    in.read(0, memory.bytes.data(), memory.bytes.size());
  } catch (const Error& error) {
    throw usage_error(error.summary(), file, error.remedy());
  }
  memory.file = format::open_image(memory.bytes, file);
  return Image(*memory.file);
}

std::string FileSource::name(std::int64_t sample) const { return (list_.folder / list_.names[sample]).string(); }

NamedTensors FileSource::held() const {
  NamedTensors all{{kHeldNames, list_.names.bytes()}, {kHeldEnds, list_.names.ends()}};
  if (list_.targets.defined()) all.emplace_back(kHeldClasses, list_.targets);
  return all;
}

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
