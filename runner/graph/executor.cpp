#include "graph/executor.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>

#include "base/error.h"
#include "base/limits.h"
#include "model/generators.h"

namespace ddp::graph {
namespace {

using Kind = CallList::Call::Kind;
using LateKind = CallList::Late::Kind;

CallList::Modes modes_now(c10::DeviceType device) {
  return {.grad = at::GradMode::is_enabled(),
          .changes_autocast = true,
          .autocast = at::autocast::is_autocast_enabled(device),
          .autocast_type = at::autocast::get_autocast_dtype(device),
          .device = device};
}

void set_modes(const CallList::Modes& modes) {
  at::GradMode::set_enabled(modes.grad);
  if (!modes.changes_autocast) return;
  at::autocast::set_autocast_enabled(modes.device, modes.autocast);
  at::autocast::set_autocast_dtype(modes.device, modes.autocast_type);
}

}  // namespace

at::Tensor wrapped_number(const c10::IValue& number) {
  const c10::ScalarType type = number.isDouble()          ? at::kDouble
                               : number.isComplexDouble() ? at::kComplexDouble
                                                          : at::kLong;
  at::Tensor tensor = at::scalar_tensor(number.toScalar(), type);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

Executor::Executor(CallList list) : Executor(std::make_shared<const CallList>(std::move(list))) {}

Executor::Executor(std::shared_ptr<const CallList> list) : list_(std::move(list)), values_(list_->values) {}

NamedTensors Executor::run(const std::vector<at::Tensor>& inputs) {
  if (inputs_ != nullptr) return Executor(list_).run(inputs);
  std::optional<model::UntouchedGenerator> of_cpu, of_device;
  if (list_->draws_alike) {
    of_cpu.emplace(model::generator_of("cpu")).seed(0);
    if (!list_->device.is_cpu()) of_device.emplace(model::generator_of(list_->device.str())).seed(0);
  }
  inputs_ = &inputs;
  for (std::size_t i = 0; i < list_->inputs.size(); ++i) {
    if (list_->inputs[i] != CallList::kNone) values_[static_cast<std::size_t>(list_->inputs[i])] = inputs.at(i);
  }
  const CallList::Call* now = nullptr;
  try {
    for (const CallList::Call& call : list_->calls) {
      now = &call;
      run_call(call);
    }
  } catch (const c10::IndexError& error) {
    const std::string what = beyond_table(*now);
    clear();
    C10_THROW_ERROR(IndexError,
                    (what.empty() ? error.msg() : what) + (now->source.empty() ? "" : ", in " + now->source));
  } catch (c10::Error& error) {
    clear();
    if (!now->source.empty()) error.add_context("in " + now->source);
    throw;
  } catch (const BadArgument& error) {
    clear();
    throw usage_error(std::string(error.what()) + (now->source.empty() ? "" : "\n  in " + now->source), list_->file,
                      "correct the model, and export it again");
  } catch (...) {
    clear();
    throw;
  }
  NamedTensors outputs;
  outputs.reserve(list_->outputs.size());
  for (const auto& [name, slot] : list_->outputs) {
    outputs.emplace_back(name, values_[static_cast<std::size_t>(slot)].toTensor());
  }
  clear();
  return outputs;
}

// Frees the values of a run: the slots are as before it.
void Executor::clear() {
  if (!outer_.empty()) set_modes(outer_.front());
  outer_.clear();
  stack_.clear();
  inputs_ = nullptr;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (list_->values[i].isNone() && !values_[i].isNone()) values_[i] = {};
  }
}

// torch's text of an index beyond an embedding has neither its size nor the index.
std::string Executor::beyond_table(const CallList::Call& call) {
  if (call.kind != Kind::operation || call.operation->schema().name() != "aten::embedding") return "";
  push_arguments(call);
  const at::Tensor& table = stack_[0].toTensor();
  const auto [least, most] = stack_[1].toTensor().aminmax();
  const std::int64_t beyond = least.item<std::int64_t>() < 0 ? least.item<std::int64_t>() : most.item<std::int64_t>();
  return "an embedding has " + std::to_string(table.size(0)) + " rows, from 0, and gets " + std::to_string(beyond);
}

void Executor::run_call(const CallList::Call& call) {
  switch (call.kind) {
    case Kind::operation:
      push_arguments(call);
      if (call.check) call.check(stack_);
      if (call.reshapes) require_own();
      call.operation->callBoxed(stack_);
      take_results(call);
      break;
    case Kind::arithmetic:
      compute(call);
      break;
    case Kind::enter:
      outer_.push_back(modes_now(call.modes.device));
      set_modes(call.modes);
      break;
    case Kind::leave:
      set_modes(outer_.back());
      outer_.pop_back();
      break;
  }
  for (const CallList::Slot slot : call.last_uses) values_[static_cast<std::size_t>(slot)] = {};
}

void Executor::compute(const CallList::Call& call) {
  push_arguments(call);
  c10::IValue result = call.arithmetic(stack_);
  stack_.clear();
  for (const CallList::Result& one : call.results) {
    if (one.slots.front() != CallList::kNone) values_[static_cast<std::size_t>(one.slots.front())] = std::move(result);
  }
}

void Executor::push_arguments(const CallList::Call& call) {
  stack_.assign(call.arguments.begin(), call.arguments.end());
  for (const CallList::Late& late : call.late) {
    c10::IValue& argument = stack_[static_cast<std::size_t>(late.place)];
    if (late.kind == CallList::Late::Kind::value) {
      argument = values_[static_cast<std::size_t>(late.elements.front().slot)];
    } else {
      argument = late_argument(late);
    }
  }
}

// Optimizers, reducers and loaders rely on the sizes of weights and inputs: a graph must not change them.
void Executor::require_own() const {
  const at::Tensor& tensor = stack_.front().toTensor();
  bool is_own = true;
  for (const c10::IValue& value : list_->values)
    is_own = is_own && !(value.isTensor() && value.toTensor().is_same(tensor));
  for (const at::Tensor& input : *inputs_) is_own = is_own && !input.is_same(tensor);
  if (!is_own) throw BadArgument("changes the shape of a weight, a buffer or an input in place");
}

c10::IValue Executor::late_argument(const CallList::Late& late) const {
  const auto value = [this](const CallList::Element& element) -> const c10::IValue& {
    return values_[static_cast<std::size_t>(element.slot)];
  };
  if (late.kind == LateKind::number_as_tensor) return wrapped_number(value(late.elements.front()));
  if (late.kind == LateKind::tensors) {
    c10::List<at::Tensor> tensors;
    tensors.reserve(late.elements.size());
    for (const auto& element : late.elements) tensors.push_back(value(element).toTensor());
    return tensors;
  }
  if (late.kind == LateKind::optional_tensors) {
    c10::List<std::optional<at::Tensor>> tensors;
    tensors.reserve(late.elements.size());
    for (const auto& element : late.elements) {
      tensors.push_back(element.slot == CallList::kNone ? std::optional<at::Tensor>() : value(element).toTensor());
    }
    return tensors;
  }
  c10::List<std::int64_t> numbers;
  numbers.reserve(late.elements.size());
  for (const auto& element : late.elements) {
    numbers.push_back(element.slot == CallList::kNone ? element.number : value(element).toInt());
  }
  return numbers;
}

// A result may be an undefined tensor, and kernels that require a tensor do not check for it: it becomes None.
void Executor::take_result(CallList::Slot slot, c10::IValue value) {
  if (slot == CallList::kNone) return;
  if (value.isTensor() && !value.toTensor().defined()) value = {};
  if (list_->skips_empty && value.isTensor() && value.toTensor().numel() == 0) value = value.toTensor().detach();
  values_[static_cast<std::size_t>(slot)] = std::move(value);
}

void Executor::take_results(const CallList::Call& call) {
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const CallList::Result& result = call.results[i];
    if (!result.is_list) {
      take_result(result.slots.front(), std::move(stack_[i]));
      continue;
    }
    const std::vector<at::Tensor> tensors = stack_[i].toTensorVector();
    TORCH_CHECK(tensors.size() == result.slots.size(), "returns ", tensors.size(), " tensors, but the graph takes ",
                result.slots.size());
    for (std::size_t k = 0; k < tensors.size(); ++k) take_result(result.slots[k], tensors[k]);
  }
  stack_.clear();
}

namespace {

// The bytes that RLIMIT_DATA counts, as the process has them now.
rlim_t data_bytes() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    constexpr std::string_view kName = "VmData:";
    if (line.starts_with(kName)) return static_cast<rlim_t>(std::stoull(line.substr(kName.size()))) * 1024;
  }
  return 0;
}

std::int64_t free_swap() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return 0;
  return static_cast<std::int64_t>(info.freeswap) * static_cast<std::int64_t>(info.mem_unit);
}

}  // namespace

std::int64_t bound_memory() {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  const std::int64_t memory = available_memory();
  const rlim_t used = data_bytes();
  rlimit limit{};
  if (memory == kNone || used == 0 || getrlimit(RLIMIT_DATA, &limit) != 0) return kNone;
  const std::int64_t left = memory + free_swap();
  limit.rlim_cur = std::min(limit.rlim_cur, used + static_cast<rlim_t>(left));
  return setrlimit(RLIMIT_DATA, &limit) == 0 ? left : kNone;
}

}  // namespace ddp::graph
