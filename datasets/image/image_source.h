#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "datasets/image/image.h"
#include "format/image.h"
#include "model/named_tensors.h"

namespace ddp::datasets {

// The open file of an Image. The next image uses the same object, so its memory is allocated once.
struct OpenFile {
  std::vector<std::byte> bytes;
  std::unique_ptr<format::ImageFile> file;
};

// The images of a dataset and their classes. Training, validation and test may share a source. Thread-safe.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual std::int64_t size() const = 0;
  // Opens an image; `memory` must outlive it. Throws ddp::Error (usage) if its file is not an image or cannot be read.
  virtual Image open(std::int64_t sample, OpenFile& memory) const = 0;
  // Names an image for people: its file, or its place in a file.
  virtual std::string name(std::int64_t sample) const = 0;
  // int64 [size]; undefined if the images have no classes, as in a prediction.
  virtual const at::Tensor& targets() const = 0;
  // The names of the classes, in the order of their numbers. A prediction has the training's classes.
  virtual const std::vector<std::string>& classes() const = 0;
  // True if the pixels are in memory; false if they are in files.
  virtual bool in_memory() const = 0;
  // The tensors of Dataset::held().
  virtual NamedTensors held() const = 0;
};

// Returns the tensor `name` of a result of held(); undefined if it is missing.
inline at::Tensor held_tensor(const NamedTensors& held, const std::string& name) {
  for (const auto& [other, tensor] : held) {
    if (other == name) return tensor;
  }
  return {};
}

}  // namespace ddp::datasets
