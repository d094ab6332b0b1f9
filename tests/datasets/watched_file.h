#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "format/image.h"

namespace ddp::datasets {

// Pixels in memory that are read like a file's pixels; it records the decoded parts.
class WatchedFile : public format::ImageFile {
 public:
  explicit WatchedFile(const at::Tensor& pixels) : rows_(pixels.permute({1, 2, 0}).contiguous()) {}
  format::ImageSize size() const override { return {.height = rows_.size(0), .width = rows_.size(1)}; }
  void decode(const format::Rectangle& part, std::uint8_t* pixels) const override {
    parts.push_back(part);
    const at::Tensor of = rows_.narrow(0, part.top, part.height).narrow(1, part.left, part.width).contiguous();
    std::copy_n(of.const_data_ptr<std::uint8_t>(), of.numel(), pixels);
  }
  mutable std::vector<format::Rectangle> parts;

 private:
  const at::Tensor rows_;
};

}  // namespace ddp::datasets
