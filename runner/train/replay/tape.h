#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include "model/named_tensors.h"
#include "train/replay/recorder.h"

namespace ddp::train {

// The recorded work of a micro-batch as calls on numbered slots. A slot holds a tensor: of the batch, a constant (a
// parameter, a buffer, a bucket's view, a number), or the result of a call.
class Tape {
 public:
  using Slot = std::int32_t;
  static constexpr Slot kNone = -1;

  // The tensors around the recorded calls.
  struct Outside {
    std::vector<at::Tensor> batch = {};
    const NamedTensors* parameters = nullptr;
    std::vector<at::Tensor> gradients_before = {};  // of the parameters; undefined: none
    std::vector<at::Tensor> buffers = {};           // of gradients that the ranks add up, in the order of the sums
  };

  // `calls_of_forward`: how many of the calls compute the loss. `outputs`: the tensors that the caller reads after
  // forward. Throws NotStatic if calls depend on the values of tensors, or cannot be repeated.
  Tape(const Recording& recording, Outside outside, std::size_t calls_of_forward,
       const std::vector<at::Tensor>& outputs);

  // Returns the first difference from another recording of the same work, in words; "": they are alike.
  std::string difference(const Tape& other) const;

  // Drops the tensors of the recording, but for constants. Call before anything but the constructor.
  void finish();

  // Computes the loss of a batch. Returns the outputs.
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& batch);
  // What the caller does during backward.
  struct Duties {
    // Gets each gradient of this rank when it is complete.
    std::function<void(std::size_t parameter, const at::Tensor& gradient)> complete;
    // Starts the sum of a buffer over the ranks; returns a function that waits for it.
    std::function<std::function<void()>(const at::Tensor& buffer)> start_sum;
  };
  // Computes the gradients of the parameters, and averages them over the ranks.
  void backward(const Duties& duties);

  std::size_t calls() const { return calls_.size(); }

 private:
  struct Late {
    std::int32_t place = 0;
    bool is_list = false;
    bool is_optional = false;  // elements of the list may be missing: kNone
    std::vector<Slot> slots;
  };
  struct Result {
    bool is_list = false;
    std::vector<Slot> slots;  // kNone: dropped
  };
  struct Call {
    c10::OperatorHandle operation;
    bool grad = true;
    std::vector<c10::IValue> arguments;  // tensors are in `late`
    std::vector<Late> late;
    std::vector<Result> results;
    std::vector<Slot> last_uses;
  };
  struct Source {
    enum class Kind { batch, gradient, constant, result };
    Kind kind = Kind::result;
    std::size_t index = 0;
  };
  struct Gradient {
    std::size_t parameter = 0;
    Slot slot = kNone;
    std::size_t before = 0;
  };

  bool add_call(const RecordedCall& recorded);
  bool copies_last(const std::string& name, const Call& call) const;
  void find_sums();
  bool sums_buffer(const RecordedCall& recorded) const;
  const at::Tensor& at(Slot slot) const { return values_[static_cast<std::size_t>(slot)]; }
  Slot slot_of(const at::Tensor& tensor);
  Slot new_slot(const at::Tensor& tensor, Source source);
  Slot find(const at::Tensor& tensor) const;
  void find_last_uses();
  void drop_results();
  void run(const Call& call);
  void take(Slot slot, const at::Tensor& tensor);

  Outside outside_;
  std::vector<Call> calls_;
  std::size_t calls_of_forward_ = 0;
  std::vector<at::Tensor> values_;
  std::vector<Source> sources_;
  std::vector<Slot> outputs_;
  std::vector<Gradient> complete_;     // in the order of the recording
  std::vector<Slot> gradients_after_;  // of the parameters; kNone: undefined
  std::vector<std::size_t> sums_;      // for each buffer: the number of calls before its sum starts
  std::vector<Slot> alias_;            // of each slot: itself, or the slot whose copy it is
  std::vector<c10::IValue> stack_;
};

// A recording that cannot be replayed; the text says why.
struct NotStatic {
  std::string reason;
};

}  // namespace ddp::train
