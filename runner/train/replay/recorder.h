#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <unordered_map>
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
  bool draws = false;                              // random numbers, with ATen's bits

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

// Returns a kernel of ours for a recorded call, whose results it computed with the same bits on this machine, or other
// random numbers; empty: we have none (own_kernels.cpp). The call's arguments have not changed since. The kernel writes
// every result whole, and reads no result. `scratch`: memory for the comparison, which grows as it must.
Kernel own_kernel(const RecordedCall& call, at::Tensor& scratch);

// Returns a kernel that makes this product and a call behind it which reads its result first: at::relu,
// at::threshold_backward, or at::mul with a number; empty: it cannot. Operands: the result of that call, the tensors of
// the product, and what else the call reads. `arguments`: of the call; its tensors may be missing. `other`: the tensor
// that it reads second, or nullptr.
Kernel joined_kernel(const std::shared_ptr<kernels::Product>& product, const c10::OperatorHandle& call,
                     const std::vector<c10::IValue>& arguments, const at::Tensor* other);

// Returns numbers between `low` and 1 in the layout of a tensor, `shift` floats behind a cache line. ATen's generator
// would take longer than the products that are tried.
at::Tensor numbers_like(const at::Tensor& other, float low, std::int64_t shift, std::mt19937& generator);

// A part of the recorded work that is no call of an operator: this parameter's gradient is complete on this rank.
struct RecordedGradient {
  std::size_t parameter = 0;
  at::Tensor gradient;
  std::size_t before = 0;  // the number of calls recorded before it
};

// The large blocks of memory that recorded calls have allocated.
class RecordedMemory {
 public:
  using Holds = std::unordered_map<c10::TensorImpl*, std::size_t>;  // tensors, and how often calls hold them

  // Notes that its tensors are held once more. `allocated`: the storages that are new.
  void hold(const RecordedCall& call, const std::vector<c10::StorageImpl*>& allocated);
  // Frees the memory of tensors that nothing but the recorded calls holds, and returns its bytes. These tensors keep
  // their shape and their storage object.
  std::size_t free_unused();

 private:
  std::unordered_map<c10::StorageImpl*, Holds> blocks_;
};

// The work of a micro-batch. It keeps every tensor of the calls, so that no two of them are the same object, but not
// the memory of those that nobody else holds.
struct Recording {
  static constexpr std::size_t kMostOfForward = std::size_t{256} << 20;

  std::size_t most_bytes = kMostOfForward;  // beyond them it keeps no call, and only counts its bytes
  std::vector<RecordedCall> calls = {};
  std::vector<RecordedGradient> gradients = {};
  RecordedMemory memory = {};
  std::size_t used = 0;     // bytes of results that are not freed
  std::size_t looked = 0;   // `used` when unused memory was freed
  std::size_t bytes = 0;    // the most that were used
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
