#include "train/replay/tape.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace ddp::train {
namespace {

// A view may stand for the conjugate or the negative of the numbers in its memory.
bool same_reading(const at::Tensor& a, const at::Tensor& b) {
  return a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

bool same_place(const at::Tensor& a, const at::Tensor& b) {
  return a.has_storage() && b.has_storage() &&
         a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl() &&
         a.storage_offset() == b.storage_offset() && a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         a.strides() == b.strides() && same_reading(a, b);
}

bool same_values(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes() || a.strides() != b.strides()) return false;
  if (!same_reading(a, b)) return false;
  // Zeros that autograd makes without memory.
  if (a._is_zerotensor() || b._is_zerotensor()) return a._is_zerotensor() == b._is_zerotensor();
  if (!a.device().is_cpu() || !b.device().is_cpu() || !a.is_non_overlapping_and_dense()) return false;
  return std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

bool same_constant(const c10::IValue& a, const c10::IValue& b) {
  if (a.isTensor() || b.isTensor()) return a.isTensor() && b.isTensor();  // undefined: others are in slots
  return a.tagKind() == b.tagKind() && a == b;
}

bool is_mask(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return false;
  return value.toTensor().scalar_type() == at::kBool || value.toTensor().scalar_type() == at::kByte;
}

// An operator whose results have shapes, or whose result is a number, that depends on the values of tensors. Indexing
// does so with a mask, whose places it finds first.
bool depends_on_values(const RecordedCall& call) {
  if (std::string_view(call.operation.schema().name()).find("index") != std::string_view::npos) {
    return std::any_of(call.arguments.begin(), call.arguments.end(), [](const c10::IValue& argument) {
      if (!argument.isList()) return false;
      const auto list = argument.toListRef();
      return std::any_of(list.begin(), list.end(), is_mask);
    });
  }
  return call.operation.hasTag(at::Tag::dynamic_output_shape) || call.operation.hasTag(at::Tag::data_dependent_output);
}

bool reshapes(const RecordedCall& call) { return call.operation.hasTag(at::Tag::inplace_view); }

bool holds_tensors(const c10::IValue& value) {
  if (value.isTensorList() || value.isOptionalTensorList()) return true;
  return value.isList() && !value.toListRef().empty() && value.toListRef().front().isTensor();
}

using Slot = Tape::Slot;
constexpr Slot kNone = Tape::kNone;

// Builds a tape from a recording, call by call.
class Builder {
 public:
  explicit Builder(Surroundings around) { tape_.around = std::move(around); }

  Tape build(const Recording& recording, std::size_t calls_of_forward, const std::vector<at::Tensor>& outputs);

 private:
  bool add_call(const RecordedCall& recorded);
  void note_gradients_after();
  bool counts_use(const RecordedCall& recorded) const;
  void note_new_shape(const Tape::Call& call);
  void follow_memory(const RecordedCall& recorded);
  void require_written(const at::Tensor& tensor, const std::string& reader) const;
  void take_arguments(Tape::Call& call);
  bool copies_last(const Tape::Call& call) const;
  void find_sums();
  bool sums_buffer(const RecordedCall& recorded) const;
  Slot slot_of(const at::Tensor& tensor);
  Slot new_slot(const at::Tensor& tensor, Tape::Source source);
  Slot find(const at::Tensor& tensor) const;
  Slot require(const at::Tensor& tensor, const char* what) const;

  Tape tape_;
  std::vector<Slot> alias_;  // of each slot: itself, or the slot whose copy it is
  std::unordered_map<const void*, Slot> by_identity_;
  std::unordered_map<const void*, std::vector<Slot>> by_memory_;  // the newest last
  std::unordered_set<const void*> reshaped_;   // tensors whose place changes: known by their identity alone
  std::unordered_set<const void*> unwritten_;  // memory that a call allocated, and no call has written
};

Tape Builder::build(const Recording& recording, std::size_t calls_of_forward, const std::vector<at::Tensor>& outputs) {
  for (const RecordedCall& call : recording.calls) {
    if (reshapes(call)) reshaped_.insert(call.arguments.front().toTensor().unsafeGetTensorImpl());
  }
  std::vector<std::size_t> places;  // of recorded calls among the calls of the tape
  for (const RecordedCall& call : recording.calls) {
    places.push_back(tape_.calls.size());
    if (add_call(call)) places.back() = tape_.calls.size();
  }
  places.push_back(tape_.calls.size());
  tape_.calls_of_forward = places[calls_of_forward];
  for (std::size_t i = 0; i < tape_.around.batch.size(); ++i) {
    if (find(tape_.around.batch[i]) == kNone) throw NotStatic{.reason = "no call reads a tensor of the batch"};
  }
  for (const at::Tensor& output : outputs) tape_.outputs.push_back(require(output, "an output of the loss"));
  for (const RecordedGradient& one : recording.gradients) {
    tape_.complete.push_back(
        {.parameter = one.parameter, .slot = require(one.gradient, "a gradient"), .before = places[one.before]});
  }
  note_gradients_after();
  find_sums();
  return std::move(tape_);
}

// Where parameters may be unused, DDP has given a gradient to those that only other ranks use, in this step.
void Builder::note_gradients_after() {
  std::vector<bool> is_used(tape_.around.parameters->size());
  for (const Tape::Gradient& one : tape_.complete) is_used[one.parameter] = true;
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    const at::Tensor& parameter = (*tape_.around.parameters)[i].second;
    const bool has_own = tape_.around.counts_of_use.empty() ? parameter.grad().defined()
                                                            : is_used[i] || tape_.around.gradients_before[i].defined();
    tape_.gradients_after.push_back(has_own ? slot_of(parameter.grad()) : kNone);
    if (!has_own && parameter.requires_grad()) tape_.unused.push_back(i);
  }
}

bool Builder::counts_use(const RecordedCall& recorded) const {
  bool counts = false;
  for (const at::Tensor& memory : tape_.around.counts_of_use) {
    for (const c10::IValue& argument : recorded.arguments) {
      each_tensor(argument, [&](const at::Tensor& tensor) {
        counts = counts || (tensor.has_storage() && tensor.is_alias_of(memory));
      });
    }
  }
  return counts;
}

// The sum of a buffer starts behind the last call that writes into it, and behind the sums of earlier buffers.
void Builder::find_sums() {
  for (const at::Tensor& buffer : tape_.around.buffers) {
    std::size_t after = tape_.sums.empty() ? tape_.calls_of_forward : tape_.sums.back();
    for (std::size_t i = after; i < tape_.calls.size(); ++i) {
      tape_.calls[i].each_result([&](Slot slot) {
        if (tape_.at(slot).is_alias_of(buffer)) after = i + 1;
      });
    }
    tape_.sums.push_back(after);
  }
}

// Returns true if the call and the one before it are left out: a copy that autograd made only because the recording
// holds its source.
bool Builder::add_call(const RecordedCall& recorded) {
  if (counts_use(recorded)) return false;
  const c10::FunctionSchema& schema = recorded.operation.schema();
  if (depends_on_values(recorded)) throw NotStatic{.reason = schema.name() + " depends on the values of a tensor"};
  if (schema.name().starts_with("c10d::")) {
    if (sums_buffer(recorded)) return false;
    throw NotStatic{.reason = schema.name() + " waits for other ranks"};
  }
  if (recorded.moves_memory) throw NotStatic{.reason = schema.name() + " gives a tensor more memory"};
  follow_memory(recorded);
  Tape::Call call{.operation = recorded.operation,
                  .grad = recorded.grad,
                  .arguments = recorded.arguments,
                  .late = {},
                  .results = {},
                  .kernel = recorded.kernel};
  take_arguments(call);
  if (reshapes(recorded)) note_new_shape(call);
  if (copies_last(call)) {
    alias_[static_cast<std::size_t>(call.late[0].slots[0])] = call.late[1].slots[0];
    tape_.calls.pop_back();
    return true;
  }
  bool is_new = schema.is_mutable() || schema.returns().empty();
  for (const c10::IValue& value : recorded.results) {
    if (!value.isTensor() && !value.isTensorList())
      throw NotStatic{.reason = schema.name() + " returns what is no tensor"};
    Tape::Result result{.is_list = !value.isTensor(), .slots = {}};
    for (const at::Tensor& one :
         value.isTensor() ? std::vector<at::Tensor>{value.toTensor()} : value.toTensorVector()) {
      result.slots.push_back(one.defined() ? find(one) : kNone);
      if (!one.defined() || result.slots.back() != kNone) continue;
      is_new = true;
      result.slots.back() = new_slot(one, {.kind = Tape::Source::Kind::result, .index = tape_.calls.size()});
    }
    call.results.push_back(std::move(result));
  }
  // A view of memory that a slot has already is no work.
  if (is_new) tape_.calls.push_back(std::move(call));
  return false;
}

// A kernel that allocates memory by a call may write it without one: its replay would read what nobody wrote.
void Builder::follow_memory(const RecordedCall& recorded) {
  const c10::FunctionSchema& schema = recorded.operation.schema();
  const bool allocates = leaves_unwritten(recorded.operation);
  for (std::size_t i = 0; i < recorded.arguments.size(); ++i) {
    const auto* const alias = schema.arguments()[i].alias_info();
    each_tensor(recorded.arguments[i], [&](const at::Tensor& tensor) {
      if (!tensor.has_storage()) return;
      const bool only_views = reshapes(recorded) || (!schema.is_mutable() && alias != nullptr);
      if (alias != nullptr && alias->isWrite() && !only_views) {
        unwritten_.erase(tensor.storage().unsafeGetStorageImpl());
      }
      if (!allocates && !only_views) require_written(tensor, schema.name());
    });
  }
  if (!allocates) return;
  for (const c10::IValue& result : recorded.results) {
    each_tensor(result, [&](const at::Tensor& tensor) {
      if (tensor.has_storage()) unwritten_.insert(tensor.storage().unsafeGetStorageImpl());
    });
  }
}

void Builder::require_written(const at::Tensor& tensor, const std::string& reader) const {
  if (tensor.numel() == 0 || !tensor.has_storage()) return;
  if (!unwritten_.contains(tensor.storage().unsafeGetStorageImpl())) return;
  throw NotStatic{.reason = reader + " reads memory that a kernel has written without a call"};
}

// A tensor whose shape changes in place has its first shape again in each run only if its call makes it anew.
void Builder::note_new_shape(const Tape::Call& call) {
  const std::string& name = call.operation.schema().name();
  const Tape::Source& source = tape_.sources[static_cast<std::size_t>(call.late.front().slots.front())];
  const bool keeps_memory = !name.starts_with("aten::resize") && !name.starts_with("aten::set_");
  if (source.kind != Tape::Source::Kind::result || !keeps_memory) {
    throw NotStatic{.reason = name + " changes the shape of a tensor in place"};
  }
  tape_.calls[source.index].kernel = {};
}

// Moves the arguments with tensors to `late`.
void Builder::take_arguments(Tape::Call& call) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    c10::IValue& argument = call.arguments[i];
    Tape::Late late{.place = static_cast<std::int32_t>(i), .is_list = false, .is_optional = false, .slots = {}};
    if (argument.isTensor()) {
      if (!argument.toTensor().defined()) continue;
      late.slots.push_back(slot_of(argument.toTensor()));
    } else if (holds_tensors(argument)) {
      late.is_list = true;
      late.is_optional = !argument.isTensorList();
      for (const c10::IValue& one : argument.toListRef()) {
        late.slots.push_back(one.isTensor() && one.toTensor().defined() ? slot_of(one.toTensor()) : kNone);
      }
    } else {
      continue;
    }
    argument = {};
    call.late.push_back(std::move(late));
  }
}

// The sum of a buffer is no call of the tape: find_sums() places it.
bool Builder::sums_buffer(const RecordedCall& recorded) const {
  if (!recorded.arguments.front().isTensorList()) return false;
  const std::vector<at::Tensor> tensors = recorded.arguments.front().toTensorVector();
  const auto is_it = [&](const at::Tensor& buffer) { return tensors.front().is_alias_of(buffer); };
  return tensors.size() == 1 && std::any_of(tape_.around.buffers.begin(), tape_.around.buffers.end(), is_it);
}

bool Builder::copies_last(const Tape::Call& call) const {
  if (call.operation.schema().name() != "aten::copy_" || tape_.calls.empty()) return false;
  const Tape::Call& last = tape_.calls.back();
  const Slot to = call.late[0].slots[0], from = call.late[1].slots[0];
  return last.operation.schema().name() == "aten::new_empty_strided" && last.results[0].slots[0] == to &&
         tape_.at(to).sizes() == tape_.at(from).sizes() && tape_.at(to).strides() == tape_.at(from).strides() &&
         tape_.at(to).scalar_type() == tape_.at(from).scalar_type() && same_reading(tape_.at(to), tape_.at(from));
}

// The newest slot with this tensor: autograd unpacks saved results as other tensors of the same memory.
Slot Builder::find(const at::Tensor& tensor) const {
  const auto same = by_identity_.find(tensor.unsafeGetTensorImpl());
  if (same != by_identity_.end()) return alias_[static_cast<std::size_t>(same->second)];
  if (reshaped_.contains(tensor.unsafeGetTensorImpl())) return kNone;
  const auto there = tensor.has_storage() ? by_memory_.find(tensor.storage().unsafeGetStorageImpl()) : by_memory_.end();
  if (there == by_memory_.end()) return kNone;
  const auto is_it = [&](Slot slot) { return same_place(tape_.at(slot), tensor); };
  const auto newest = std::find_if(there->second.rbegin(), there->second.rend(), is_it);
  return newest == there->second.rend() ? kNone : alias_[static_cast<std::size_t>(*newest)];
}

Slot Builder::require(const at::Tensor& tensor, const char* what) const {
  const Slot slot = find(tensor);
  if (slot == kNone) throw NotStatic{.reason = std::string(what) + " was not computed by an operator"};
  require_written(tensor, what);
  return slot;
}

Slot Builder::slot_of(const at::Tensor& tensor) {
  using Kind = Tape::Source::Kind;
  const Slot known = find(tensor);
  if (known != kNone) return known;
  for (std::size_t i = 0; i < tape_.around.batch.size(); ++i) {
    const at::Tensor& one = tape_.around.batch[i];
    if (one.is_same(tensor) || same_place(one, tensor)) return new_slot(tensor, {Kind::batch, i});
    if (one.has_storage() && tensor.has_storage() && one.storage().is_alias_of(tensor.storage())) {
      throw NotStatic{.reason = "a part of the batch is used without a call"};
    }
  }
  for (std::size_t i = 0; i < tape_.around.gradients_before.size(); ++i) {
    const at::Tensor& one = tape_.around.gradients_before[i];
    if (one.defined() && (one.is_same(tensor) || same_place(one, tensor))) return new_slot(tensor, {Kind::gradient, i});
  }
  return new_slot(tensor, {Kind::constant, 0});
}

Slot Builder::new_slot(const at::Tensor& tensor, Tape::Source source) {
  tape_.values.push_back(tensor);
  tape_.sources.push_back(source);
  const auto slot = static_cast<Slot>(alias_.size());
  alias_.push_back(slot);
  by_identity_[tensor.unsafeGetTensorImpl()] = slot;
  tape_.sources.back().is_reshaped = reshaped_.contains(tensor.unsafeGetTensorImpl());
  if (tensor.has_storage() && !tape_.sources.back().is_reshaped) {
    by_memory_[tensor.storage().unsafeGetStorageImpl()].push_back(slot);
  }
  return slot;
}

std::string name_of(const Tape& tape, std::size_t call) {
  if (call >= tape.calls.size()) return "no call";
  const c10::OperatorName& name = tape.calls[call].operation.operator_name();
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

}  // namespace

bool leaves_unwritten(const c10::OperatorHandle& operation) {
  const std::string_view name = operation.schema().name();
  return name.starts_with("aten::empty") || name.starts_with("aten::new_empty") || name.starts_with("aten::resize");
}

void Tape::drop_results() {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (sources[i].kind != Source::Kind::constant) values[i].reset();
  }
  around.batch.clear();
  around.gradients_before.clear();
}

Tape tape_of(const Recording& recording, Surroundings around, const std::vector<at::Tensor>& outputs,
             std::optional<std::size_t> calls_of_forward) {
  if (recording.is_too_large()) {
    const auto mib = [](std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
    throw NotStatic{.reason =
                        "its recording takes " + mib(recording.bytes) + ", and may take " + mib(recording.most_bytes)};
  }
  return Builder(std::move(around)).build(recording, calls_of_forward.value_or(recording.calls.size()), outputs);
}

std::vector<std::int64_t> layout_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::int64_t> layout;
  for (const at::Tensor& tensor : tensors) {
    // Two tensors of the same memory, as input and target of an autoencoder, are one slot.
    const auto same = [&](const at::Tensor& other) { return other.const_data_ptr() == tensor.const_data_ptr(); };
    layout.push_back(std::find_if(tensors.begin(), tensors.end(), same) - tensors.begin());
    layout.push_back(static_cast<std::int64_t>(tensor.scalar_type()));
    layout.insert(layout.end(), tensor.sizes().begin(), tensor.sizes().end());
    layout.push_back(-1);
    layout.insert(layout.end(), tensor.strides().begin(), tensor.strides().end());
  }
  return layout;
}

void leave_out_new_kernels(const Tape& first, Tape& second) {
  for (std::size_t i = 0; i < second.calls.size(); ++i) {
    if (!first.calls[i].kernel) second.calls[i].kernel = {};
  }
}

std::string difference(const Tape& first, const Tape& second) {
  std::vector<std::size_t> changed;
  std::set_symmetric_difference(first.unused.begin(), first.unused.end(), second.unused.begin(), second.unused.end(),
                                std::back_inserter(changed));
  if (!changed.empty()) {
    return "the parameter \"" + (*first.around.parameters)[changed.front()].first +
           "\" has a gradient in only one of two recordings";
  }
  for (std::size_t i = 0; i < std::max(first.calls.size(), second.calls.size()); ++i) {
    const std::string place = "call " + std::to_string(i + 1) + ", " + name_of(first, i);
    if (i >= first.calls.size() || i >= second.calls.size() ||
        !(first.calls[i].operation == second.calls[i].operation)) {
      return place + ": the next recording has " + name_of(second, i);
    }
    const Tape::Call &a = first.calls[i], &b = second.calls[i];
    for (std::size_t k = 0; k < a.arguments.size(); ++k) {
      if (!same_constant(a.arguments[k], b.arguments[k])) {
        return place + ": the argument " + a.operation.schema().arguments()[k].name() + " differs";
      }
    }
    const auto same_late = [](const Tape::Late& x, const Tape::Late& y) {
      return x.place == y.place && x.slots == y.slots;
    };
    const auto same_result = [](const Tape::Result& x, const Tape::Result& y) { return x.slots == y.slots; };
    if (!std::equal(a.late.begin(), a.late.end(), b.late.begin(), b.late.end(), same_late) ||
        !std::equal(a.results.begin(), a.results.end(), b.results.begin(), b.results.end(), same_result)) {
      return place + ": its tensors come from elsewhere";
    }
  }
  if (first.outputs != second.outputs || first.gradients_after != second.gradients_after ||
      first.calls_of_forward != second.calls_of_forward || first.sources.size() != second.sources.size()) {
    return "the results are of other calls";
  }
  for (std::size_t i = 0; i < first.sources.size(); ++i) {
    if (first.sources[i].kind != second.sources[i].kind || first.sources[i].index != second.sources[i].index) {
      return "a tensor comes from elsewhere";
    }
    const bool is_constant = first.sources[i].kind == Tape::Source::Kind::constant;
    const at::Tensor &a = first.values[i], &b = second.values[i];
    if (is_constant && !a.is_same(b) && !same_place(a, b) && !same_values(a, b)) return "a constant differs";
  }
  return "";
}

}  // namespace ddp::train
