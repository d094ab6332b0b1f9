#include "train/replay/recorder.h"

#include <algorithm>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <torch/library.h>

#include "model/recording.h"

namespace ddp::train {
namespace {

using model::kRecordingKey;

thread_local Recording* current = nullptr;
thread_local const GradientWrites* writes = nullptr;

void look_at(const c10::IValue& result) {
  if (!result.isTensor() || !result.toTensor().defined()) return;
  const auto holds = [&](const at::Tensor& buffer) { return result.toTensor().is_alias_of(buffer); };
  if (std::any_of(writes->buffers.begin(), writes->buffers.end(), holds)) writes->look(result.toTensor());
}

// The bytes of memory that the arguments have.
std::vector<std::size_t> memory_of(const std::vector<c10::IValue>& arguments) {
  std::vector<std::size_t> bytes;
  for (const c10::IValue& argument : arguments) {
    const bool has_memory = argument.isTensor() && argument.toTensor().defined() && argument.toTensor().has_storage();
    bytes.push_back(has_memory ? argument.toTensor().storage().nbytes() : 0);
  }
  return bytes;
}

// The bytes of a call's results that have memory of their own.
std::size_t new_bytes(const RecordedCall& call) {
  std::vector<at::Tensor> known;
  for (const c10::IValue& argument : call.arguments) {
    each_tensor(argument, [&](const at::Tensor& tensor) {
      if (tensor.has_storage()) known.push_back(tensor);
    });
  }
  std::size_t bytes = 0;
  for (const c10::IValue& result : call.results) {
    each_tensor(result, [&](const at::Tensor& tensor) {
      const auto is_view = [&](const at::Tensor& one) { return tensor.is_alias_of(one); };
      if (tensor.has_storage() && std::none_of(known.begin(), known.end(), is_view)) bytes += tensor.storage().nbytes();
    });
  }
  return bytes;
}

void record(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  using Difference = torch::jit::Stack::difference_type;
  std::vector<c10::IValue> arguments;
  if (current != nullptr) {
    arguments.assign(stack->end() - static_cast<Difference>(operation.schema().arguments().size()), stack->end());
  }
  const std::vector<std::size_t> before = memory_of(arguments);
  {
    // Calls that the kernel makes are its own.
    const model::Unrecorded unrecorded;
    operation.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kRecordingKey), stack);
  }
  if (writes != nullptr && operation.schema().is_mutable()) {
    const model::Unrecorded unrecorded;
    const auto first = stack->end() - static_cast<Difference>(operation.schema().returns().size());
    std::for_each(first, stack->end(), look_at);
  }
  if (current == nullptr) return;
  const auto results = static_cast<Difference>(operation.schema().returns().size());
  RecordedCall call{.operation = operation,
                    .grad = at::GradMode::is_enabled(),
                    .arguments = std::move(arguments),
                    .results = std::vector<c10::IValue>(stack->end() - results, stack->end())};
  current->bytes += new_bytes(call);
  if (current->is_too_large()) {  // frees the tensors
    current->calls.clear();
    current->gradients.clear();
    return;
  }
  const std::vector<std::size_t> after = memory_of(call.arguments);
  for (std::size_t i = 0; i < after.size(); ++i) call.moves_memory |= before[i] != 0 && before[i] != after[i];
  {
    const model::Unrecorded unrecorded;
    call.kernel = own_kernel(call, current->scratch);
  }
  current->calls.push_back(std::move(call));
}

}  // namespace

TORCH_LIBRARY_IMPL(_, Fake, library) { library.fallback(torch::CppFunction::makeFromBoxedFunction<&record>()); }

Recorder::Recorder(Recording& into, const GradientWrites* seen) : include_(kRecordingKey) {
  current = &into;
  writes = seen;
}

Recorder::~Recorder() {
  current = nullptr;
  writes = nullptr;
}

void Recorder::note_gradient(std::size_t parameter, const at::Tensor& gradient) {
  if (current == nullptr || current->is_too_large()) return;
  current->gradients.push_back({.parameter = parameter, .gradient = gradient, .before = current->calls.size()});
}

}  // namespace ddp::train
