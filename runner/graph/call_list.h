#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include "graph/argument_checks.h"

namespace ddp::graph {

// A list of calls that are resolved: run one after the other, they compute a function of tensors. Values lie in
// numbered slots. An exported model's graph becomes such a list (resolve.h).
struct CallList {
  using Slot = std::int32_t;
  static constexpr Slot kNone = -1;

  // An element of a list that is an argument: a slot's value, or with kNone a constant.
  struct Element {
    Slot slot = kNone;
    std::int64_t number = 0;
  };

  // An argument of a call that changes from run to run. The others lie in Call::arguments.
  struct Late {
    enum class Kind {
      value,             // the value of the first element's slot
      number_as_tensor,  // the same, which is a number, as a tensor
      tensors,           // a list of tensors
      optional_tensors,  // the same; kNone is none
      numbers            // a list of whole numbers
    };
    std::int32_t place = 0;  // among the arguments
    Kind kind = Kind::value;
    std::vector<Element> elements = {};
  };

  // A result of a call: one slot, or those of a list's elements; kNone drops it.
  struct Result {
    bool is_list = false;
    std::vector<Slot> slots = {};
  };

  // Arithmetic on numbers, such as sizes of tensors.
  using Arithmetic = c10::IValue (*)(const std::vector<c10::IValue>&);

  // The modes that hold while a part of the list runs.
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
    bool reshapes = false;                           // it gives its first argument, a tensor, another shape
    Arithmetic arithmetic = nullptr;
    Modes modes = {};                         // of `enter`
    std::vector<c10::IValue> arguments = {};  // constants at their places
    std::vector<Late> late = {};
    std::vector<Result> results = {};
    std::vector<Slot> last_uses = {};  // slots that nothing reads after this call
    std::string source = {};           // "model.py, line 12: return self.fc(x)"; empty where it is not known
  };

  std::vector<std::unique_ptr<const c10::OperatorHandle>> operators = {};
  std::vector<Call> calls = {};
  std::vector<c10::IValue> values = {};  // a slot each: tensors that outlive a run are set
  std::vector<Slot> inputs = {};
  Slot output = kNone;
  std::string file = {};  // of the graph, for errors
};

// Returns a Python number where an operator takes a tensor: it does not take part in the choice of the result's type.
at::Tensor wrapped_number(const c10::IValue& number);

// Runs a call list, again and again. It allocates nothing for values that lie in slots.
class Executor {
 public:
  explicit Executor(CallList list);

  // Returns the output for inputs in the list's order, under the autograd mode of the caller. Throws what an operator
  // throws (c10::Error), with the line of Python that called it; and ddp::Error (usage) where an operator would not
  // survive its arguments. It must not be entered twice at a time.
  at::Tensor run(const std::vector<at::Tensor>& inputs);

  const CallList& list() const { return list_; }

 private:
  void run_call(const CallList::Call& call);
  void compute(const CallList::Call& call);
  void push_arguments(const CallList::Call& call);
  void require_own() const;
  void take_results(const CallList::Call& call);
  void take_result(CallList::Slot slot, c10::IValue value);
  c10::IValue late_argument(const CallList::Late& late) const;
  void clear();

  CallList list_;
  std::vector<c10::IValue> values_;
  std::vector<c10::IValue> stack_;
  const std::vector<at::Tensor>* inputs_ = nullptr;  // of the run at hand
  std::vector<CallList::Modes> outer_;               // the modes around those parts that are being run
};

}  // namespace ddp::graph
