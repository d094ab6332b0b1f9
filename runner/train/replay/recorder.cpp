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

void record(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  using Difference = torch::jit::Stack::difference_type;
  std::vector<c10::IValue> arguments;
  const bool records = current != nullptr && !current->is_too_large();
  if (records) {
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
  if (!records) return;
  const auto results = static_cast<Difference>(operation.schema().returns().size());
  RecordedCall call{.operation = operation,
                    .grad = at::GradMode::is_enabled(),
                    .arguments = std::move(arguments),
                    .results = std::vector<c10::IValue>(stack->end() - results, stack->end())};
  const std::vector<std::size_t> after = memory_of(call.arguments);
  for (std::size_t i = 0; i < after.size(); ++i) call.moves_memory |= before[i] != 0 && before[i] != after[i];
  {
    const model::Unrecorded unrecorded;
    call.kernel = own_kernel(call, current->scratch);
  }
  for (const c10::IValue& result : call.results) {
    if (result.isTensor() && result.toTensor().defined()) current->bytes += result.toTensor().nbytes();
  }
  if (current->is_too_large()) current->calls.clear();  // frees the tensors
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
  if (current == nullptr) return;
  current->gradients.push_back({.parameter = parameter, .gradient = gradient, .before = current->calls.size()});
}

}  // namespace ddp::train
