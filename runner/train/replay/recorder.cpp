#include "train/replay/recorder.h"

#include <utility>

#include <ATen/core/grad_mode.h>
#include <torch/library.h>

namespace ddp::train {
namespace {

// A key of the dispatcher below autograd that C++ does not use otherwise: it is of Python's fake tensors.
constexpr auto kKey = c10::DispatchKey::Fake;

thread_local Recording* recording = nullptr;

void record(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  using Difference = torch::jit::Stack::difference_type;
  std::vector<c10::IValue> arguments;
  const bool records = recording != nullptr && !recording->is_too_large();
  if (records) {
    arguments.assign(stack->end() - static_cast<Difference>(operation.schema().arguments().size()), stack->end());
  }
  {
    // Calls that the kernel makes are its own.
    const c10::impl::ExcludeDispatchKeyGuard exclude(kKey);
    operation.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey), stack);
  }
  if (!records) return;
  const auto results = static_cast<Difference>(operation.schema().returns().size());
  RecordedCall call{.operation = operation,
                    .grad = at::GradMode::is_enabled(),
                    .arguments = std::move(arguments),
                    .results = std::vector<c10::IValue>(stack->end() - results, stack->end())};
  for (const c10::IValue& result : call.results) {
    if (result.isTensor() && result.toTensor().defined()) recording->bytes += result.toTensor().nbytes();
  }
  if (recording->is_too_large()) recording->calls.clear();  // frees the tensors
  recording->calls.push_back(std::move(call));
}

}  // namespace

TORCH_LIBRARY_IMPL(_, Fake, library) { library.fallback(torch::CppFunction::makeFromBoxedFunction<&record>()); }

Recorder::Recorder(Recording& into) : include_(kKey) { recording = &into; }

Recorder::~Recorder() { recording = nullptr; }

void Recorder::note_gradient(std::size_t parameter, const at::Tensor& gradient) {
  if (recording == nullptr) return;
  recording->gradients.push_back({.parameter = parameter, .gradient = gradient, .before = recording->calls.size()});
}

}  // namespace ddp::train
