#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace ddp::kernels {
class Product;
}

namespace ddp::train {

// A call's results, then its tensors in the order of its arguments.
using Operands = const at::Tensor* const*;
// Computes a call's results, in the memory that they have.
struct Kernel {
  std::function<void(Operands)> run = {};
  std::shared_ptr<kernels::Product> product = {};  // that it computes, and nothing else; nullptr: something else

  explicit operator bool() const { return static_cast<bool>(run); }
};

// Calls `visit` with each tensor in an argument or a result.
template <class Visit>
void each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& one : value.toListRef()) each_tensor(one, visit);
  }
}

// A call of an operator below autograd: of a kernel, by forward, by autograd's formulas, or by DDP's reducer.
struct RecordedCall {
  c10::OperatorHandle operation;
  bool grad = true;  // GradMode: some kernels keep what backward needs only if it is on
  std::vector<c10::IValue> arguments;
  std::vector<c10::IValue> results;
  bool moves_memory = false;  // an argument's memory has grown: tensors that share it have another address since
  Kernel kernel = {};         // our own, which computed the same bits; empty: none
};

// Returns a kernel of ours for a recorded call, whose results it computed with the same bits on this machine; empty: we
// have none (own_kernels.cpp). The call's arguments have not changed since. The kernel writes every result whole, and
// reads no result. `scratch`: memory for the comparison, which grows as it must.
Kernel own_kernel(const RecordedCall& call, at::Tensor& scratch);

// Returns a kernel that makes this product and a call behind it which reads its result first: at::relu,
// at::threshold_backward, or at::mul with a number; empty: it cannot. Operands: the result of that call, the tensors of
// the product, and what else the call reads. `arguments`: of the call; its tensors may be missing. `other`: the tensor
// that it reads second, or nullptr.
Kernel joined_kernel(const std::shared_ptr<kernels::Product>& product, const c10::OperatorHandle& call,
                     const std::vector<c10::IValue>& arguments, const at::Tensor* other);

// A part of the recorded work that is no call of an operator: this parameter's gradient is complete on this rank.
struct RecordedGradient {
  std::size_t parameter = 0;
  at::Tensor gradient;
  std::size_t before = 0;  // the number of calls recorded before it
};

// The work of a micro-batch. It keeps every tensor of the calls alive, so that no two of them have the same address.
struct Recording {
  static constexpr std::size_t kMostOfForward = std::size_t{256} << 20;

  std::size_t most_bytes = kMostOfForward;  // beyond them it keeps no call, and only counts its bytes
  std::vector<RecordedCall> calls = {};
  std::vector<RecordedGradient> gradients = {};
  std::size_t bytes = 0;    // of the memory of all results
  at::Tensor scratch = {};  // of own_kernel(): fresh memory for each call would take longer than the kernels
  bool is_too_large() const { return bytes > most_bytes; }
};

// Sees what calls write into the buffers of gradients, before the ranks add up the buffers.
struct GradientWrites {
  std::vector<at::Tensor> buffers = {};
  std::function<void(const at::Tensor& written)> look = {};  // gets a part of a buffer
};

// Records the calls that this thread makes below autograd, and those of its backward passes, as long as it lives.
class Recorder {
 public:
  // `writes`: sees what the calls write there; null: nobody does.
  explicit Recorder(Recording& recording, const GradientWrites* writes = nullptr);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Notes that this parameter's gradient is complete, if this thread records now.
  static void note_gradient(std::size_t parameter, const at::Tensor& gradient);

 private:
  const c10::impl::IncludeDispatchKeyGuard include_;
};

}  // namespace ddp::train
