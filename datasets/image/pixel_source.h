#pragma once

#include <string>
#include <vector>

#include "datasets/context.h"
#include "datasets/image/image_source.h"

namespace ddp::datasets {

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
