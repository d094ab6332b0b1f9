#include "datasets/image/file_source.h"

#include <utility>

#include "base/error.h"
#include "record/file/input_file.h"

namespace ddp::datasets {
namespace {

constexpr const char* kHeldNames = "names";
constexpr const char* kHeldEnds = "ends";
constexpr const char* kHeldClasses = "targets";

}  // namespace

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

}  // namespace ddp::datasets
