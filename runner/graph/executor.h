#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include "graph/argument_checks.h"
#include "model/named_tensors.h"

namespace ddp::graph {

// A list of resolved calls that, run in order, compute a function of tensors. Values are in numbered slots. The graph
// of an exported model becomes such a list (resolve.h).
struct CallList {
  using Slot = std::int32_t;
  static constexpr Slot kNone = -1;

  // An element of an argument that is a list: a slot's value; a constant if the slot is kNone.
  struct Element {
    Slot slot = kNone;
    std::int64_t number = 0;
  };

  // An argument of a call that changes between runs. The others are in Call::arguments.
  struct Late {
    enum class Kind {
      value,             // the value of the first element's slot
      number_as_tensor,  // the same value, a number, converted to a tensor
      tensors,           // a list of tensors
      optional_tensors,  // the same; kNone stands for a missing tensor
      numbers            // a list of whole numbers
    };
    std::int32_t place = 0;  // index of the argument
    Kind kind = Kind::value;
    std::vector<Element> elements = {};
  };

  // A result of a call: one slot, or one slot per element of a list; kNone drops the value.
  struct Result {
    bool is_list = false;
    std::vector<Slot> slots = {};
  };

  // Arithmetic on numbers, such as sizes of tensors.
  using Arithmetic = c10::IValue (*)(const std::vector<c10::IValue>&);

  // The modes of a part of the list.
  struct Modes {
    bool grad = true;
    bool changes_autocast = false;
    bool autocast = false;
    c10::ScalarType autocast_type = c10::ScalarType::BFloat16;
    c10::DeviceType device = c10::DeviceType::CPU;
  };

  struct Call {
    enum class Kind { operation, arithmetic, enter, leave };
    Kind kind = Kind::operation;
    const c10::OperatorHandle* operation = nullptr;  // of `operators`
    ArgumentCheck check = {};                        // before the operation
    bool reshapes = false;                           // changes the shape of its first argument, a tensor
    Arithmetic arithmetic = nullptr;
    Modes modes = {};                         // of `enter`
    std::vector<c10::IValue> arguments = {};  // constants at their places
    std::vector<Late> late = {};
    std::vector<Result> results = {};
    std::vector<Slot> last_uses = {};  // slots that no later call reads
    std::string source = {};           // "model.py, line 12: return self.fc(x)"; empty if unknown
  };

  std::vector<std::unique_ptr<const c10::OperatorHandle>> operators = {};
  std::vector<Call> calls = {};
  std::vector<c10::IValue> values = {};  // one per slot: tensors that outlive a run are set
  std::vector<Slot> inputs = {};
  std::vector<std::pair<std::string, Slot>> outputs = {};
  std::string file = {};  // the graph's file, for errors
  // Python does not call what gives no rows, such as an expert without tokens: no gradient goes there.
  bool skips_empty = false;
  // Each run draws the same random numbers, on this device and on the CPU, and leaves their generators as they were.
  bool draws_alike = false;
  c10::Device device = c10::kCPU;
};

// Wraps a Python number for an operator that takes a tensor; it does not affect the result's type.
at::Tensor wrapped_number(const c10::IValue& number);

// Runs a call list repeatedly. Values in slots need no allocation.
class Executor {
 public:
  explicit Executor(CallList list);

  // Returns the outputs for inputs in the list's order, in the caller's autograd mode. Throws an operator's error
  // (c10::Error) with the Python line of the call, and ddp::Error (usage) if the arguments would crash an operator.
  // Another run may begin while an operator waits (dist/turns.h), but only one thread may compute at a time.
  NamedTensors run(const std::vector<at::Tensor>& inputs);

  const CallList& list() const { return *list_; }

 private:
  explicit Executor(std::shared_ptr<const CallList> list);

  void run_call(const CallList::Call& call);
  void compute(const CallList::Call& call);
  std::string beyond_table(const CallList::Call& call);
  void push_arguments(const CallList::Call& call);
  void require_own() const;
  void take_results(const CallList::Call& call);
  void take_result(CallList::Slot slot, c10::IValue value);
  c10::IValue late_argument(const CallList::Late& late) const;
  void clear();

  std::shared_ptr<const CallList> list_;
  std::vector<c10::IValue> values_;
  std::vector<c10::IValue> stack_;
  const std::vector<at::Tensor>* inputs_ = nullptr;  // of the current run; null: there is none
  std::vector<CallList::Modes> outer_;               // the modes around the parts that are running
};

// Limits the memory of this process to what the machine, or its control group, has left. A graph that makes larger
// tensors gets an error from the call that allocates them (c10::Error), and the kernel need not kill a process. The
// limit counts allocated memory, written to or not. Returns the number of bytes. A lower existing limit stays. Not for
// processes that use a GPU: drivers reserve more memory than they use.
std::int64_t bound_memory();

}  // namespace ddp::graph
