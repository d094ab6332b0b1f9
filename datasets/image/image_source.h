#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  // `targets`: int64 [size], each below the number of classes; undefined if the images have no classes, as in a
  // prediction. `classes`: their names, in the order of their numbers. A prediction has the training's classes.
  ImageSource(at::Tensor targets, std::vector<std::string> classes)
      : targets_(std::move(targets)), classes_(std::move(classes)) {}
  virtual ~ImageSource() = default;
  virtual std::int64_t size() const = 0;
  // Opens an image; `memory` must outlive it. Throws ddp::Error (usage) if its file is not an image or cannot be read,
  // and ddp::Error (training) if a block of a stream cannot be read: that is no bad image.
  virtual Image open(std::int64_t sample, OpenFile& memory) const = 0;
  // Names an image for people: its file, or its place in a file.
  virtual std::string name(std::int64_t sample) const = 0;
  // As MapDataset::block_begins.
  virtual std::vector<std::int64_t> block_begins() const { return {}; }
  virtual std::int64_t block_bytes() const { return 0; }
  // True if the pixels are in memory; false if they are in files.
  virtual bool in_memory() const { return false; }
  // Warnings about the images, a line each.
  virtual std::vector<std::string> warnings() const { return {}; }
  const at::Tensor& targets() const { return targets_; }
  const std::vector<std::string>& classes() const { return classes_; }
  // The tensors of Dataset::held(), with "targets" if the images have classes.
  NamedTensors held() const;

 protected:
  virtual NamedTensors held_images() const = 0;

 private:
  const at::Tensor targets_;
  const std::vector<std::string> classes_;
};

// Opens the image in `size` bytes of a file; nothing: in the whole file. `name` is for errors. Throws ddp::Error
// (usage).
Image read_image(const format::Bytes& file, const std::string& name, OpenFile& memory, std::int64_t offset = 0,
                 std::optional<std::int64_t> size = {});

// Names of files in two tensors, which ranks can share. A name needs no allocation of its own.
class NameList {
 public:
  NameList() = default;
  explicit NameList(const std::vector<std::string>& names);
  // `bytes`: uint8, the concatenated names. `ends`: int64 [n], the end of each name in `bytes`.
  NameList(at::Tensor bytes, at::Tensor ends) : bytes_(std::move(bytes)), ends_(std::move(ends)) {}

  std::int64_t size() const { return ends_.defined() ? ends_.size(0) : 0; }
  std::string_view operator[](std::int64_t i) const;

  const at::Tensor& bytes() const { return bytes_; }
  const at::Tensor& ends() const { return ends_; }

 private:
  at::Tensor bytes_;
  at::Tensor ends_;
};

// Images as pixels in memory, which all ranks of a node share.
class PixelSource final : public ImageSource {
 public:
  // `pixels`: uint8 [n, c, h, w], contiguous, c 1 or 3. `file`: the name in errors.
  PixelSource(at::Tensor pixels, at::Tensor targets, std::vector<std::string> classes, std::string file)
      : ImageSource(std::move(targets), std::move(classes)), pixels_(std::move(pixels)), file_(std::move(file)) {}
  // Makes a source from the result of held() of another one.
  PixelSource(const NamedTensors& held, std::vector<std::string> classes, std::string file);

  std::int64_t size() const override { return pixels_.size(0); }
  Image open(std::int64_t sample, OpenFile& memory) const override;
  std::string name(std::int64_t sample) const override;
  bool in_memory() const override { return true; }

 private:
  NamedTensors held_images() const override;

  const at::Tensor pixels_;
  const std::string file_;
};

// Returns the classes of the training data if the context has them, else an empty list.
std::vector<std::string> classes_of_training(const Context& context);

// Returns "0", "1", …, for data that do not name their classes.
std::vector<std::string> numbered_classes(std::int64_t count);

// Throws ddp::Error (usage) if a target (int64 [n]) is below 0 or not below `count`.
void require_classes(const at::Tensor& targets, std::int64_t count, const std::string& file);

}  // namespace ddp::datasets
