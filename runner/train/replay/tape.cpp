#include "train/replay/tape.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

namespace ddp::train {
namespace {

bool same_place(const at::Tensor& a, const at::Tensor& b) {
  return a.has_storage() && b.has_storage() &&
         a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl() &&
         a.storage_offset() == b.storage_offset() && a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

bool same_values(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes() || a.strides() != b.strides()) return false;
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

bool holds_tensors(const c10::IValue& value) {
  if (value.isTensorList() || value.isOptionalTensorList()) return true;
  return value.isList() && !value.toListRef().empty() && value.toListRef().front().isTensor();
}

}  // namespace

Tape::Tape(const Recording& recording, Outside outside, std::size_t calls_of_forward,
           const std::vector<at::Tensor>& outputs)
    : outside_(std::move(outside)) {
  std::vector<std::size_t> places;  // of recorded calls among the calls of the tape
  for (const RecordedCall& call : recording.calls) {
    places.push_back(calls_.size());
    if (add_call(call)) places.back() = calls_.size();
  }
  places.push_back(calls_.size());
  calls_of_forward_ = places[calls_of_forward];
  for (const at::Tensor& output : outputs) {
    outputs_.push_back(find(output));
    if (outputs_.back() == kNone) throw NotStatic{"an output of the loss was not computed by an operator"};
  }
  for (const RecordedGradient& one : recording.gradients) {
    complete_.push_back({.parameter = one.parameter, .slot = find(one.gradient), .before = places[one.before]});
    if (complete_.back().slot == kNone) throw NotStatic{"a gradient was not computed by an operator"};
  }
  for (const auto& [name, parameter] : *outside_.parameters) {
    const at::Tensor& gradient = parameter.grad();
    gradients_after_.push_back(gradient.defined() ? slot_of(gradient) : kNone);
  }
  find_sums();
}

// The sum of a buffer starts behind the last call that writes into it, and behind the sums of earlier buffers.
void Tape::find_sums() {
  for (const at::Tensor& buffer : outside_.buffers) {
    std::size_t after = sums_.empty() ? calls_of_forward_ : sums_.back();
    for (std::size_t i = after; i < calls_.size(); ++i) {
      for (const Result& result : calls_[i].results) {
        const auto writes = [&](Slot slot) { return slot != kNone && at(slot).is_alias_of(buffer); };
        if (std::any_of(result.slots.begin(), result.slots.end(), writes)) after = i + 1;
      }
    }
    sums_.push_back(after);
  }
}

// Returns true if the call and the one before it are left out: a copy that autograd made only because the recording
// holds its source.
bool Tape::add_call(const RecordedCall& recorded) {
  const std::string& name = recorded.operation.schema().name();
  if (depends_on_values(recorded)) {
    throw NotStatic{name + " depends on the values of a tensor"};
  }
  if (name.starts_with("c10d::")) {
    if (sums_buffer(recorded)) return false;
    throw NotStatic{name + " waits for other ranks"};
  }
  Call call{.operation = recorded.operation,
            .grad = recorded.grad,
            .arguments = recorded.arguments,
            .late = {},
            .results = {},
            .last_uses = {}};
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    c10::IValue& argument = call.arguments[i];
    Late late{.place = static_cast<std::int32_t>(i), .is_list = false, .is_optional = false, .slots = {}};
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
  if (copies_last(name, call)) {
    alias_[static_cast<std::size_t>(call.late[0].slots[0])] = call.late[1].slots[0];
    calls_.pop_back();
    return true;
  }
  bool is_new = recorded.operation.schema().is_mutable();
  for (const c10::IValue& value : recorded.results) {
    if (!value.isTensor() && !value.isTensorList()) throw NotStatic{name + " returns what is no tensor"};
    Result result{.is_list = !value.isTensor(), .slots = {}};
    for (const at::Tensor& one :
         value.isTensor() ? std::vector<at::Tensor>{value.toTensor()} : value.toTensorVector()) {
      result.slots.push_back(one.defined() ? find(one) : kNone);
      if (!one.defined() || result.slots.back() != kNone) continue;
      is_new = true;
      result.slots.back() = new_slot(one, {.kind = Source::Kind::result, .index = calls_.size()});
    }
    call.results.push_back(std::move(result));
  }
  // A view of memory that a slot has already is no work.
  if (is_new) calls_.push_back(std::move(call));
  return false;
}

// The sum of a buffer is no call of the tape: find_sums() places it.
bool Tape::sums_buffer(const RecordedCall& recorded) const {
  if (!recorded.arguments.front().isTensorList()) return false;
  const std::vector<at::Tensor> tensors = recorded.arguments.front().toTensorVector();
  const auto is_it = [&](const at::Tensor& buffer) { return tensors.front().is_alias_of(buffer); };
  return tensors.size() == 1 && std::any_of(outside_.buffers.begin(), outside_.buffers.end(), is_it);
}

bool Tape::copies_last(const std::string& name, const Call& call) const {
  if (name != "aten::copy_" || calls_.empty()) return false;
  const Call& last = calls_.back();
  const Slot to = call.late[0].slots[0], from = call.late[1].slots[0];
  return last.operation.schema().name() == "aten::new_empty_strided" && last.results[0].slots[0] == to &&
         at(to).sizes() == at(from).sizes() && at(to).strides() == at(from).strides() &&
         at(to).scalar_type() == at(from).scalar_type();
}

// The newest slot with this tensor: autograd unpacks saved results as other tensors of the same memory.
Tape::Slot Tape::find(const at::Tensor& tensor) const {
  for (std::size_t i = values_.size(); i-- > 0;) {
    if (values_[i].is_same(tensor)) return alias_[i];
  }
  for (std::size_t i = values_.size(); i-- > 0;) {
    if (same_place(values_[i], tensor)) return alias_[i];
  }
  return kNone;
}

Tape::Slot Tape::slot_of(const at::Tensor& tensor) {
  const Slot known = find(tensor);
  if (known != kNone) return known;
  for (std::size_t i = 0; i < outside_.batch.size(); ++i) {
    const at::Tensor& one = outside_.batch[i];
    if (one.is_same(tensor) || same_place(one, tensor)) return new_slot(tensor, {Source::Kind::batch, i});
    if (one.has_storage() && tensor.has_storage() && one.storage().is_alias_of(tensor.storage())) {
      throw NotStatic{"a part of the batch is used without a call"};
    }
  }
  for (std::size_t i = 0; i < outside_.gradients_before.size(); ++i) {
    const at::Tensor& one = outside_.gradients_before[i];
    if (one.defined() && (one.is_same(tensor) || same_place(one, tensor))) {
      return new_slot(tensor, {Source::Kind::gradient, i});
    }
  }
  return new_slot(tensor, {Source::Kind::constant, 0});
}

Tape::Slot Tape::new_slot(const at::Tensor& tensor, Source source) {
  values_.push_back(tensor);
  sources_.push_back(source);
  alias_.push_back(static_cast<Slot>(alias_.size()));
  return static_cast<Slot>(values_.size() - 1);
}

std::string Tape::difference(const Tape& other) const {
  const auto names = [](const Tape& tape, std::size_t i) {
    return i < tape.calls_.size() ? tape.calls_[i].operation.schema().name() : "no call";
  };
  for (std::size_t i = 0; i < std::max(calls_.size(), other.calls_.size()); ++i) {
    const std::string place = "call " + std::to_string(i + 1) + ", " + names(*this, i);
    if (i >= calls_.size() || i >= other.calls_.size() || !(calls_[i].operation == other.calls_[i].operation)) {
      return place + ": the next recording has " + names(other, i);
    }
    const Call &a = calls_[i], &b = other.calls_[i];
    for (std::size_t k = 0; k < a.arguments.size(); ++k) {
      if (!same_constant(a.arguments[k], b.arguments[k])) {
        return place + ": the argument " + a.operation.schema().arguments()[k].name() + " differs";
      }
    }
    const auto same_late = [](const Late& x, const Late& y) { return x.place == y.place && x.slots == y.slots; };
    const auto same_result = [](const Result& x, const Result& y) { return x.slots == y.slots; };
    if (!std::equal(a.late.begin(), a.late.end(), b.late.begin(), b.late.end(), same_late) ||
        !std::equal(a.results.begin(), a.results.end(), b.results.begin(), b.results.end(), same_result)) {
      return place + ": its tensors come from elsewhere";
    }
  }
  if (outputs_ != other.outputs_ || gradients_after_ != other.gradients_after_ ||
      calls_of_forward_ != other.calls_of_forward_ || sources_.size() != other.sources_.size()) {
    return "the results are of other calls";
  }
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].kind != other.sources_[i].kind || sources_[i].index != other.sources_[i].index) {
      return "a tensor comes from elsewhere";
    }
    const bool is_constant = sources_[i].kind == Source::Kind::constant;
    if (is_constant && !values_[i].is_same(other.values_[i]) && !same_place(values_[i], other.values_[i]) &&
        !same_values(values_[i], other.values_[i])) {
      return "a constant differs";
    }
  }
  return "";
}

void Tape::finish() {
  drop_results();
  outside_.batch.clear();
  outside_.gradients_before.clear();
  alias_.clear();
  find_last_uses();
}

// A result is freed behind the last call that reads it, unless the caller reads it.
void Tape::find_last_uses() {
  std::vector<bool> seen(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) seen[i] = sources_[i].kind != Source::Kind::result;
  const auto keep = [&](Slot slot) {
    if (slot != kNone) seen[static_cast<std::size_t>(slot)] = true;
  };
  for (const Slot slot : outputs_) keep(slot);
  for (const Slot slot : gradients_after_) keep(slot);
  for (const Gradient& one : complete_) keep(one.slot);
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    const auto use = [&](Slot slot) {
      if (slot == kNone || seen[static_cast<std::size_t>(slot)]) return;
      seen[static_cast<std::size_t>(slot)] = true;
      call->last_uses.push_back(slot);
    };
    for (const Result& result : call->results) std::for_each(result.slots.begin(), result.slots.end(), use);
    for (const Late& late : call->late) std::for_each(late.slots.begin(), late.slots.end(), use);
  }
}

std::vector<at::Tensor> Tape::forward(const std::vector<at::Tensor>& batch) {
  const at::AutoDispatchBelowADInplaceOrView below;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].kind == Source::Kind::batch) values_[i] = batch[sources_[i].index];
    if (sources_[i].kind == Source::Kind::gradient) {
      values_[i] = (*outside_.parameters)[sources_[i].index].second.grad();
    }
  }
  for (std::size_t i = 0; i < calls_of_forward_; ++i) run(calls_[i]);
  std::vector<at::Tensor> outputs;
  for (const Slot slot : outputs_) outputs.push_back(values_[static_cast<std::size_t>(slot)]);
  return outputs;
}

void Tape::backward(const Duties& duties) {
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto complete = complete_.begin();
    std::size_t summed = 0;
    std::vector<std::function<void()>> waits;
    for (std::size_t i = calls_of_forward_; i <= calls_.size(); ++i) {
      for (; complete != complete_.end() && complete->before <= i; ++complete) {
        duties.complete(complete->parameter, at(complete->slot));
      }
      for (; summed < sums_.size() && sums_[summed] <= i; ++summed) {
        waits.push_back(duties.start_sum(outside_.buffers[summed]));
      }
      if (i < calls_.size()) run(calls_[i]);
    }
    for (const auto& wait : waits) wait();
  }
  for (std::size_t i = 0; i < gradients_after_.size(); ++i) {
    at::Tensor& gradient = (*outside_.parameters)[i].second.mutable_grad();
    if (gradients_after_[i] == kNone) continue;
    gradient = values_[static_cast<std::size_t>(gradients_after_[i])];
  }
  drop_results();
}

void Tape::drop_results() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (sources_[i].kind != Source::Kind::constant) values_[i].reset();
  }
}

void Tape::take(Slot slot, const at::Tensor& tensor) {
  if (slot != kNone) values_[static_cast<std::size_t>(slot)] = tensor;
}

void Tape::run(const Call& call) {
  stack_.assign(call.arguments.begin(), call.arguments.end());
  for (const Late& late : call.late) {
    c10::IValue& argument = stack_[static_cast<std::size_t>(late.place)];
    if (!late.is_list) {
      argument = at(late.slots.front());
    } else if (late.is_optional) {
      c10::List<std::optional<at::Tensor>> list;
      for (const Slot slot : late.slots) list.push_back(slot == kNone ? std::optional<at::Tensor>() : at(slot));
      argument = std::move(list);
    } else {
      c10::List<at::Tensor> list;
      for (const Slot slot : late.slots) list.push_back(at(slot));
      argument = std::move(list);
    }
  }
  {
    const at::AutoGradMode mode(call.grad);
    call.operation.callBoxed(stack_);
  }
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const Result& result = call.results[i];
    if (result.is_list) {
      const std::vector<at::Tensor> tensors = stack_[i].toTensorVector();
      for (std::size_t k = 0; k < tensors.size(); ++k) take(result.slots[k], tensors[k]);
    } else if (!result.slots.empty()) {
      take(result.slots.front(), stack_[i].toTensor());
    }
  }
  stack_.clear();
  for (const Slot slot : call.last_uses) values_[static_cast<std::size_t>(slot)].reset();
}

}  // namespace ddp::train
