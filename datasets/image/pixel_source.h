#pragma once

#include <string>
#include <vector>

#include "datasets/context.h"
#include "datasets/image/image_source.h"

namespace ddp::datasets {

// Images that are in memory as pixels, once for all ranks of a machine.
class PixelSource final : public ImageSource {
 public:
  // `pixels`: uint8 [n, c, h, w], contiguous, c 1 or 3. `targets`: int64 [n], each below the number of classes; not
  // defined where there are none. `file`: what errors name.
  PixelSource(at::Tensor pixels, at::Tensor targets, std::vector<std::string> classes, std::string file);
  // The same from what held() of such a source returned.
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

// The classes of the training data, where the context has them; else none.
std::vector<std::string> classes_of_training(const Context& context);

// "0", "1", …, for data that do not name their classes.
std::vector<std::string> numbered_classes(std::int64_t count);

// Throws ddp::Error (usage) where one of the targets (int64 [n]) is no class of so many.
void require_classes(const at::Tensor& targets, std::int64_t count, const std::string& file);

}  // namespace ddp::datasets
