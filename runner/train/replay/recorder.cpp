#include "train/replay/recorder.h"

#include <algorithm>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/variable.h>
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

c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

// The storages of a call's results that the call has allocated.
std::vector<c10::StorageImpl*> new_storages(const RecordedCall& call) {
  std::vector<const c10::StorageImpl*> known{nullptr};
  for (const c10::IValue& argument : call.arguments) {
    each_tensor(argument, [&](const at::Tensor& tensor) { known.push_back(storage_of(tensor)); });
  }
  std::vector<c10::StorageImpl*> found;
  for (const c10::IValue& result : call.results) {
    each_tensor(result, [&](const at::Tensor& tensor) {
      c10::StorageImpl* const storage = storage_of(tensor);
      if (std::find(known.begin(), known.end(), storage) != known.end()) return;
      known.push_back(storage);
      found.push_back(storage);
    });
  }
  return found;
}

// Counts the tensors that autograd holds for a view, as its bases.
void add_bases(c10::TensorImpl* tensor, RecordedMemory::Holds& holds) {
  const at::TensorBase view(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(tensor));
  const auto* const meta = torch::autograd::impl::get_view_autograd_meta(view);
  if (meta == nullptr) return;
  if (meta->has_bw_view()) ++holds[meta->get_backward_view().base_.unsafeGetTensorImpl()];
  if (meta->has_fw_view() && !meta->shared_view_info()) {
    ++holds[meta->get_forward_view().base_.unsafeGetTensorImpl()];
  }
}

// Beyond so many new bytes, unused memory is looked for.
constexpr std::size_t kLookAfter = std::size_t{16} << 20;
// Smaller blocks are not freed.
constexpr std::size_t kLarge = std::size_t{64} << 10;

void free_unused(Recording& recording) {
  if (recording.used < recording.looked + kLookAfter) return;
  recording.used -= recording.memory.free_unused();
  recording.looked = recording.used;
}

void record(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  using Difference = torch::jit::Stack::difference_type;
  std::vector<c10::IValue> arguments;
  if (current != nullptr) {
    free_unused(*current);
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
  const std::vector<c10::StorageImpl*> storages = new_storages(call);
  for (const c10::StorageImpl* storage : storages) current->used += storage->nbytes();
  current->bytes = std::max(current->bytes, current->used);
  if (current->is_too_large()) {  // frees the tensors
    current->memory = {};
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
  current->memory.hold(call, storages);
  current->calls.push_back(std::move(call));
}

}  // namespace

void RecordedMemory::hold(const RecordedCall& call, const std::vector<c10::StorageImpl*>& allocated) {
  for (c10::StorageImpl* const storage : allocated) {
    if (storage->nbytes() >= kLarge) blocks_.try_emplace(storage);
  }
  const auto hold = [&](const c10::IValue& value) {
    each_tensor(value, [&](const at::Tensor& tensor) {
      const auto block = blocks_.find(storage_of(tensor));
      if (block == blocks_.end()) return;
      if (value.isTensor()) {
        ++block->second[tensor.unsafeGetTensorImpl()];
      } else {
        blocks_.erase(block);  // others may hold the same list
      }
    });
  };
  std::for_each(call.arguments.begin(), call.arguments.end(), hold);
  std::for_each(call.results.begin(), call.results.end(), hold);
}

std::size_t RecordedMemory::free_unused() {
  std::size_t bytes = 0;
  std::erase_if(blocks_, [&](const auto& block) {
    const auto& [storage, calls_that_hold] = block;
    if (c10::raw::intrusive_ptr::use_count(storage) != calls_that_hold.size()) return false;
    Holds holds = calls_that_hold;
    for (const auto& [tensor, count] : calls_that_hold) add_bases(tensor, holds);
    const auto is_only_here = [](const auto& one) {
      return c10::raw::intrusive_ptr::use_count(one.first) == one.second;
    };
    if (!std::all_of(holds.begin(), holds.end(), is_only_here)) return false;
    bytes += storage->nbytes();
    storage->set_data_ptr_noswap(at::DataPtr(nullptr, storage->device()));
    return true;
  });
  return bytes;
}

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
