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

// The file that an Image is decoded from. It is used again for the next one, so that its memory stays.
struct OpenFile {
  std::vector<std::byte> bytes;
  std::unique_ptr<format::ImageFile> file;
};

// The images of a dataset and their classes. Training, validation and test may share one. Safe from several threads.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual std::int64_t size() const = 0;
  // Opens an image; `memory` outlives it. Throws ddp::Error (usage) where its file is no image, or cannot be read.
  virtual Image open(std::int64_t sample, OpenFile& memory) const = 0;
  // Names an image for people: its file, or its place in one.
  virtual std::string name(std::int64_t sample) const = 0;
  // int64 [size]; undefined where the images have no classes, as for a prediction.
  virtual const at::Tensor& targets() const = 0;
  // The names of the classes, in the order of their numbers. A prediction has those of the training.
  virtual const std::vector<std::string>& classes() const = 0;
  // Are the pixels in memory, or in files?
  virtual bool in_memory() const = 0;
  // As Dataset::held().
  virtual NamedTensors held() const = 0;
};

// The tensor of a name in what held() returned; undefined: there is none.
inline at::Tensor held_tensor(const NamedTensors& held, const std::string& name) {
  for (const auto& [other, tensor] : held) {
    if (other == name) return tensor;
  }
  return {};
}

}  // namespace ddp::datasets
