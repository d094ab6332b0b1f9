#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "datasets/dataset.h"
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

// Names of files in two tensors, which ranks can share. A name needs no allocation of its own.
class NameList {
 public:
  NameList() = default;
  explicit NameList(const std::vector<std::string>& names);
  // `bytes`: uint8, the concatenated names. `ends`: int64 [n], the end of each name in `bytes`.
  NameList(at::Tensor bytes, at::Tensor ends);

  std::int64_t size() const { return ends_.defined() ? ends_.size(0) : 0; }
  std::string_view operator[](std::int64_t i) const;

  const at::Tensor& bytes() const { return bytes_; }
  const at::Tensor& ends() const { return ends_; }

 private:
  at::Tensor bytes_;
  at::Tensor ends_;
};

// A list of image files.
struct FileList {
  std::filesystem::path folder;  // the names are relative to it
  NameList names;
  at::Tensor targets;  // int64 [n]; undefined: the images have no classes
  std::vector<std::string> classes;
};

// Returns the list that `held`, the result of FileSource::held(), contains.
FileList held_files(const NamedTensors& held, std::filesystem::path folder, std::vector<std::string> classes);

// Images with a file each. open() reads the file.
class FileSource final : public ImageSource {
 public:
  explicit FileSource(FileList list) : list_(std::move(list)) {}

  std::int64_t size() const override { return list_.names.size(); }
  Image open(std::int64_t sample, OpenFile& memory) const override;
  std::string name(std::int64_t sample) const override;
  const at::Tensor& targets() const override { return list_.targets; }
  const std::vector<std::string>& classes() const override { return list_.classes; }
  bool in_memory() const override { return false; }
  NamedTensors held() const override;

 private:
  const FileList list_;
};

// Images as pixels in memory, which all ranks of a node share.
class PixelSource final : public ImageSource {
 public:
  // `pixels`: uint8 [n, c, h, w], contiguous, c 1 or 3. `targets`: int64 [n], each below the number of classes;
  // undefined if the images have no classes. `file`: the name in errors.
  PixelSource(at::Tensor pixels, at::Tensor targets, std::vector<std::string> classes, std::string file);
  // Makes a source from the result of held() of another one.
  PixelSource(const NamedTensors& held, std::vector<std::string> classes, std::string file);

  std::int64_t size() const override { return pixels_.size(0); }
  Image open(std::int64_t sample, OpenFile& memory) const override;
  std::string name(std::int64_t sample) const override;
  const at::Tensor& targets() const override { return targets_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  bool in_memory() const override { return true; }
  NamedTensors held() const override;

 private:
  at::Tensor pixels_;
  at::Tensor targets_;
  std::vector<std::string> classes_;
  std::string file_;
};

// Returns the classes of the training data if the context has them, else an empty list.
std::vector<std::string> classes_of_training(const Context& context);

// Returns "0", "1", …, for data that do not name their classes.
std::vector<std::string> numbered_classes(std::int64_t count);

// Throws ddp::Error (usage) if a target (int64 [n]) is below 0 or not below `count`.
void require_classes(const at::Tensor& targets, std::int64_t count, const std::string& file);

}  // namespace ddp::datasets
