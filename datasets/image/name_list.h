#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddp::datasets {

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

}  // namespace ddp::datasets
