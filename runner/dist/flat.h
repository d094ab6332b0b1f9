#pragma once

#include <cstddef>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

namespace ddp::dist {

// A tensor's values in contiguous order: its own memory if it is contiguous, else a copy.
class Flat {
 public:
  explicit Flat(const at::Tensor& tensor) : tensor_(tensor), flat_(tensor) {
    TORCH_CHECK(tensor.device().is_cpu() && tensor.layout() == at::kStrided,
                "shm carries dense tensors in CPU memory, not one on ", tensor.device(), " of layout ",
                tensor.layout());
    const at::NoGradGuard no_grad;
    if (!tensor.is_contiguous()) flat_ = tensor.contiguous();
  }
  std::byte* data() const { return static_cast<std::byte*>(flat_.mutable_data_ptr()); }
  const at::Tensor& tensor() const { return tensor_; }
  std::size_t bytes() const { return flat_.nbytes(); }
  std::size_t count() const { return static_cast<std::size_t>(flat_.numel()); }
  // Copies changed values back into the tensor.
  void store() const {
    const at::NoGradGuard no_grad;
    if (!flat_.is_same(tensor_)) tensor_.copy_(flat_);
  }

 private:
  at::Tensor tensor_;
  at::Tensor flat_;
};

}  // namespace ddp::dist
