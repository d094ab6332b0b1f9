#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include "model/named_tensors.h"
#include "train/replay/recorder.h"

namespace ddp::train {

// The tensors around the recorded calls of a micro-batch.
struct Surroundings {
  std::vector<at::Tensor> batch = {};
  const NamedTensors* parameters = nullptr;
  std::vector<at::Tensor> gradients_before = {};  // of the parameters; undefined: none
  std::vector<at::Tensor> buffers = {};           // of gradients that the ranks add up, in the order of the sums
  std::vector<at::Tensor> counts_of_use = {};     // dist::Parallel's: whoever replays counts by itself
};

// The recorded work of a micro-batch as calls on numbered slots. A slot holds a tensor: of the batch, a constant (a
// parameter, a buffer, a bucket's view, a number), or the result of a call.
struct Tape {
  using Slot = std::int32_t;
  static constexpr Slot kNone = -1;

  // An argument with tensors.
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
    std::vector<c10::IValue> arguments;  // but for those in `late`
    std::vector<Late> late;
    std::vector<Result> results;
    Kernel kernel;
    bool joined = false;  // it is left out: the kernel of an earlier call does its work

    // Calls `visit` with each slot that the call reads; a place without a tensor is left out.
    template <class Visit>
    void each_read(const Visit& visit) const {
      for (const Late& one : late) {
        for (const Slot slot : one.slots) {
          if (slot != kNone) visit(slot);
        }
      }
    }
    template <class Visit>
    void each_result(const Visit& visit) const {
      for (const Result& one : results) {
        for (const Slot slot : one.slots) {
          if (slot != kNone) visit(slot);
        }
      }
    }
  };
  struct Source {
    enum class Kind { batch, gradient, constant, result };
    Kind kind = Kind::result;
    std::size_t index = 0;     // of the batch's tensor, the parameter, or the call
    bool is_reshaped = false;  // a later call changes its shape in place, as transpose_() does
  };
  // Part of the work behind so many calls: this rank's gradient of a parameter is complete.
  struct Gradient {
    std::size_t parameter = 0;
    Slot slot = kNone;
    std::size_t before = 0;
  };

  Surroundings around;
  std::vector<Call> calls;
  std::size_t calls_of_forward = 0;
  std::vector<at::Tensor> values;  // of each slot, as recorded
  std::vector<Source> sources;
  std::vector<Slot> outputs;
  std::vector<Gradient> complete;     // in the order of the recording
  std::vector<Slot> gradients_after;  // of the parameters; kNone: undefined, or unused
  std::vector<std::size_t> unused;    // trained parameters without a gradient of this rank in the step so far
  std::vector<std::size_t> sums;      // for each buffer: the number of calls before its sum starts

  const at::Tensor& at(Slot slot) const { return values[static_cast<std::size_t>(slot)]; }
  // Drops the recorded tensors, but for constants.
  void drop_results();
};

// Work that cannot be replayed; the text says why.
struct NotStatic {
  std::string reason;
  bool has_other_bits = false;  // a replay of it had
};

// Tells whether calls of this operator allocate memory and leave its numbers to later calls.
bool leaves_unwritten(const c10::OperatorHandle& operation);

// `outputs`: the tensors that the caller reads after forward. `calls_of_forward`: how many of the calls compute the
// loss; nothing: all. Throws NotStatic if calls depend on the values of tensors, cannot be repeated, or take too much
// memory.
Tape tape_of(const Recording& recording, Surroundings around, const std::vector<at::Tensor>& outputs,
             std::optional<std::size_t> calls_of_forward = {});

// Returns the first difference between two recordings of the same work, in words; "": they are alike.
std::string difference(const Tape& first, const Tape& second);

// Leaves out the kernels of ours in the second recording that the first one, which is alike, does not have.
void leave_out_new_kernels(const Tape& first, Tape& second);

// Types, sizes and strides of tensors, and which of them share memory: equal for tensors that the same recording takes.
std::vector<std::int64_t> layout_of(const std::vector<at::Tensor>& tensors);

}  // namespace ddp::train
