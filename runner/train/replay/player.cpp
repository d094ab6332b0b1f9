#include "train/replay/player.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <unordered_map>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/record_function.h>

#include "kernels/product.h"

namespace ddp::train {
namespace {

using SourceKind = Tape::Source::Kind;
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

constexpr std::uintptr_t kCacheLine = 64;

std::byte* memory_of(const at::Tensor& tensor) {
  return static_cast<std::byte*>(const_cast<void*>(tensor.const_data_ptr()));
}

std::ptrdiff_t bytes_before(const at::Tensor& tensor) {
  return tensor.storage_offset() * static_cast<std::ptrdiff_t>(tensor.itemsize());
}

// A tensor like `model`, in memory of `storage` from this byte on.
at::Tensor tensor_in(const at::Storage& storage, std::ptrdiff_t offset, const at::Tensor& model) {
  at::Tensor tensor = at::empty({0}, model.options().requires_grad(false));
  const auto place = static_cast<std::int64_t>(offset) / static_cast<std::int64_t>(model.element_size());
  tensor.set_(storage, place, model.sizes(), model.strides());
  tensor._set_conj(model.is_conj());
  tensor._set_neg(model.is_neg());
  return tensor;
}

// Sets all bits of a tensor's memory, which is NaN in each type of floating point.
void fill_with_ones(const at::Tensor& tensor) {
  if (tensor.numel() == 0 || !tensor.is_non_overlapping_and_dense()) return;
  std::memset(memory_of(tensor), 0xff, tensor.nbytes());
}

}  // namespace

Player::Player(Tape tape, CommonMemory& common) : tape_(std::move(tape)) {
  const at::AutoDispatchBelowADInplaceOrView below;
  leave_out_kernels();
  find_places();
  join_calls();
  find_ends();
  find_targets();
  plan(common);
  find_last_uses();
  drop_results();
  tape_.around.batch.clear();
  tape_.around.gradients_before.clear();
}

// A kernel reads no memory that it writes: where gradients of an earlier micro-batch are read, which may lie in the
// kept memory of this one, ATen adds to them.
void Player::leave_out_kernels() {
  const auto is_gradient = [](const Tape::Source& source) { return source.kind == SourceKind::gradient; };
  if (std::none_of(tape_.sources.begin(), tape_.sources.end(), is_gradient)) return;
  for (Tape::Call& call : tape_.calls) {
    call.each_result([&](Slot slot) {
      const auto& after = tape_.gradients_after;
      if (std::find(after.begin(), after.end(), slot) != after.end()) call.kernel = {};
    });
  }
}

void Player::find_places() {
  std::unordered_map<const void*, Slot> roots;
  for (std::size_t i = 0; i < tape_.values.size(); ++i) {
    const at::Tensor& value = tape_.values[i];
    const auto self = static_cast<Slot>(i);
    const bool has_memory = value.has_storage() && value.numel() > 0;
    const Slot root = has_memory ? roots.try_emplace(value.storage().unsafeGetStorageImpl(), self).first->second : self;
    places_.push_back({.root = root, .offset = root == self ? 0 : bytes_before(value) - bytes_before(tape_.at(root))});
  }
  kept_.assign(places_.size(), false);
  for (std::size_t i = 0; i < places_.size(); ++i) kept_[i] = tape_.sources[i].kind == SourceKind::constant;
}

// Joins each product with the only call that reads it: the product is not written and read again.
void Player::join_calls() {
  for (std::size_t i = 0; i < tape_.calls.size(); ++i) {
    if (tape_.calls[i].kernel.product == nullptr) continue;
    if (const auto next = next_to_join(i)) join(i, *next);
  }
}

// Returns the only call that reads the result of this one, if it may be made in its place.
std::optional<std::size_t> Player::next_to_join(std::size_t call) const {
  const auto root_of = [this](Slot slot) { return slot == Tape::kNone ? slot : places_[index(slot)].root; };
  const Slot product = tape_.calls[call].results[0].slots[0], root = root_of(product);
  const auto is_it = [&](Slot slot) { return root_of(slot) == root; };
  const auto& after = tape_.gradients_after;
  if (root != product || std::any_of(tape_.outputs.begin(), tape_.outputs.end(), is_it) ||
      std::any_of(after.begin(), after.end(), is_it)) {
    return {};
  }
  std::vector<std::size_t> users;
  for (std::size_t i = 0; i < tape_.calls.size(); ++i) {
    if (is_view(tape_.calls[i])) continue;  // reads nothing
    const auto use = [&](Slot slot) {
      if (i != call && is_it(slot)) users.push_back(i);
    };
    tape_.calls[i].each_read(use);
    tape_.calls[i].each_result(use);
  }
  if (users.size() != 1) return {};
  const std::size_t next = users.front();
  const Tape::Call& reader = tape_.calls[next];
  const bool both_in_forward = (call < tape_.calls_of_forward) == (next < tape_.calls_of_forward);
  if (!reader.kernel || !both_in_forward || reader.late[0].slots[0] != product) return {};
  // The result has its own memory, or is a place in a bucket, which nobody else writes or reads before its sum.
  const Slot result = reader.results[0].slots[0];
  const bool into_bucket = is_in_bucket(tape_.at(result));
  const auto is_complete = [&](const Tape::Gradient& one) { return is_it(one.slot); };
  const bool is_gradient = std::any_of(tape_.complete.begin(), tape_.complete.end(), is_complete);
  const Tape::Source& made = tape_.sources[index(result)];
  const bool is_new = root_of(result) == result && made.kind == SourceKind::result && made.index == next;
  if (into_bucket != is_gradient || (!into_bucket && !is_new)) return {};
  // The other tensors that it reads exist already, and keep their numbers until then.
  bool ready = true;
  reader.each_read([&](Slot slot) {
    if (slot == product || slot == result) return;
    const Tape::Source& source = tape_.sources[index(slot)];
    if (source.kind == SourceKind::result) ready = ready && source.index < call;
    for (std::size_t i = call; i < next; ++i) {
      tape_.calls[i].each_result(
          [&](Slot written) { ready = ready && (is_it(written) || root_of(written) != root_of(slot)); });
    }
  });
  return ready ? std::optional(next) : std::nullopt;
}

// Joins two calls if one kernel gives the bits of both kernels, one after the other.
void Player::join(std::size_t first, std::size_t next) {
  Tape::Call &call = tape_.calls[first], &reader = tape_.calls[next];
  const at::Tensor* const other = reader.late.size() > 1 ? &tape_.at(reader.late[1].slots.front()) : nullptr;
  const Kernel joined = joined_kernel(call.kernel.product, reader.operation, reader.arguments, other);
  if (!joined) return;
  const Slot product = call.results[0].slots[0], result = reader.results[0].slots[0];
  std::vector<Tape::Late> read = call.late;
  for (std::size_t i = 1; i < reader.late.size(); ++i) {
    read.push_back(reader.late[i]);
    read.back().place = Tape::kNone;
  }
  // The recorded numbers may be gone: other ones stand for them.
  std::mt19937 generator;
  std::map<Slot, at::Tensor> numbers;
  const auto numbers_of = [&](Slot slot) {
    const bool is_there = tape_.at(slot).storage().data() != nullptr;
    const auto [found, is_new] = numbers.try_emplace(slot, tape_.at(slot));
    if (is_new && !is_there) found->second = numbers_like(tape_.at(slot), -1, 0, generator);
    return &found->second;
  };
  const auto computed = [&](const Kernel& kernel, Slot into, const std::vector<Tape::Late>& arguments) {
    const at::Tensor& model = tape_.at(into);
    at::Tensor to = at::empty_strided(model.sizes(), model.strides(), model.options().requires_grad(false));
    std::vector<const at::Tensor*> operands = {&to};
    for (const Tape::Late& one : arguments) operands.push_back(numbers_of(one.slots.front()));
    kernel.run(operands.data());
    return to;
  };
  numbers[product] = computed(call.kernel, product, call.late);
  const at::Tensor apart = computed(reader.kernel, result, reader.late), together = computed(joined, result, read);
  if (std::memcmp(apart.const_data_ptr(), together.const_data_ptr(), apart.nbytes()) != 0) return;
  call.kernel = joined;
  call.late = std::move(read);
  call.results = std::move(reader.results);
  if (tape_.sources[index(result)].kind == SourceKind::result) tape_.sources[index(result)].index = first;
  for (Tape::Gradient& one : tape_.complete) {
    if (one.slot == product) one.slot = result;
  }
  const auto leave_out = [](Tape::Call& one) {
    one = {.operation = one.operation, .arguments = {}, .late = {}, .results = {}, .kernel = {}, .joined = true};
  };
  leave_out(reader);
  // Nobody reads views of the product.
  for (Tape::Call& one : tape_.calls) {
    bool of_product = false;
    one.each_result([&](Slot slot) { of_product = of_product || places_[index(slot)].root == product; });
    if (of_product && is_view(one)) leave_out(one);
  }
}

bool Player::is_in_bucket(const at::Tensor& tensor) const {
  const auto holds = [&](const at::Tensor& buffer) { return tensor.is_alias_of(buffer); };
  return std::any_of(tape_.around.buffers.begin(), tape_.around.buffers.end(), holds);
}

void Player::find_ends() {
  ends_.assign(places_.size(), 0);
  const auto use = [this](Slot slot, std::size_t until) {
    if (slot == Tape::kNone) return;
    std::size_t& end = ends_[index(places_[index(slot)].root)];
    end = std::max(end, until);
  };
  for (std::size_t i = 0; i < tape_.calls.size(); ++i) {
    tape_.calls[i].each_read([&](Slot slot) { use(slot, i + 1); });
    tape_.calls[i].each_result([&](Slot slot) { use(slot, i + 1); });
  }
  for (const Tape::Gradient& one : tape_.complete) use(one.slot, one.before + 1);
  for (const Slot slot : tape_.outputs) use(slot, kNever);
  for (const Slot slot : tape_.gradients_after) use(slot, kNever);
}

// A gradient that is only copied into a bucket is computed there. Buckets have no other readers than their sums.
void Player::find_targets() {
  targets_.assign(places_.size(), Tape::kNone);
  for (std::size_t i = 0; i < tape_.calls.size(); ++i) {
    const Tape::Call& call = tape_.calls[i];
    if (call.operation.schema().name() != "aten::copy_") continue;
    const Slot to = call.late[0].slots[0], from = call.late[1].slots[0];
    const at::Tensor &target = tape_.at(to), &gradient = tape_.at(from);
    const Tape::Source& source = tape_.sources[index(from)];
    if (!is_in_bucket(target) || source.kind != SourceKind::result || places_[index(from)].root != from) continue;
    if (!tape_.calls[source.index].kernel || target.strides() != gradient.strides()) continue;
    if (target.scalar_type() != gradient.scalar_type() || target.sizes() != gradient.sizes()) continue;
    // sgemm takes longer in memory between two cache lines than the copy does.
    const auto& product = tape_.calls[source.index].kernel.product;
    const bool by_sgemm = product != nullptr && !product->takes_ending();
    if (by_sgemm && reinterpret_cast<std::uintptr_t>(memory_of(target)) % kCacheLine != 0) continue;
    // Behind the copy nobody uses the gradient: the ranks add to the bucket.
    bool is_last = true;
    for (std::size_t k = i + 1; k < tape_.calls.size(); ++k) {
      if (is_view(tape_.calls[k])) continue;
      const auto use = [&](Slot slot) { is_last = is_last && places_[index(slot)].root != from; };
      tape_.calls[k].each_read(use);
      tape_.calls[k].each_result(use);
    }
    if (is_last) targets_[index(from)] = to;
  }
}

void Player::plan(CommonMemory& common) {
  free_ = common;
  std::vector<std::vector<Slot>> ending(tape_.calls.size() + 2);
  for (std::size_t i = 0; i < tape_.calls.size(); ++i) {
    const Tape::Call& call = tape_.calls[i];
    if (call.kernel) {
      call.each_result([&](Slot slot) {
        if (is_kept(slot) || tape_.sources[index(slot)].index != i) return;
        keep(slot, common);
        if (ends_[index(slot)] != kNever && targets_[index(slot)] == Tape::kNone)
          ending[ends_[index(slot)]].push_back(slot);
      });
    }
    if (!is_done(call) && (call.kernel || !make_views(call))) add_step(i);
    for (const Slot slot : ending[i + 1]) free_.push_back(tape_.at(slot));
  }
  free_.clear();
}

// A call that a kernel does beside its own, or a copy of what was computed in its place.
bool Player::is_done(const Tape::Call& call) const {
  if (call.joined) return true;
  if (call.operation.schema().name() != "aten::copy_") return false;
  return targets_[index(call.late[1].slots[0])] == call.late[0].slots[0];
}

// Gives a result memory that no call reads any more, or new memory. What is read behind the run has its own.
void Player::keep(Slot slot, CommonMemory& common) {
  at::Tensor& value = tape_.values[index(slot)];
  kept_[index(slot)] = true;
  if (targets_[index(slot)] != Tape::kNone) {
    value = tape_.at(targets_[index(slot)]);
    return;
  }
  const bool outlives_run = ends_[index(slot)] == kNever;
  const auto same_size = [&](const at::Tensor& one) {
    return !outlives_run && one.storage().nbytes() == value.storage().nbytes() && one.dtype() == value.dtype();
  };
  const auto found = std::find_if(free_.begin(), free_.end(), same_size);
  if (found == free_.end()) {
    value = at::empty_strided(value.sizes(), value.strides(), value.options().requires_grad(false));
    kept_bytes_ += value.storage().nbytes();
    if (!outlives_run) common.push_back(value);
  } else {
    value = tensor_in(found->storage(), 0, value);
    free_.erase(found);
  }
}

// A call that only makes other tensors of memory that there is already.
bool Player::is_view(const Tape::Call& call) const {
  bool is_view = !call.operation.schema().is_mutable() && !call.results.empty();
  call.each_result([&](Slot slot) { is_view = is_view && places_[index(slot)].root != slot; });
  return is_view;
}

// Makes the results of a call now if they are views of kept memory. Returns false if they are not.
bool Player::make_views(const Tape::Call& call) {
  if (!is_view(call)) return false;
  bool possible = true;
  call.each_result([&](Slot slot) {
    const at::Tensor &value = tape_.at(slot), &root = tape_.at(places_[index(slot)].root);
    possible = possible && is_kept(places_[index(slot)].root) && value.dtype() == root.dtype() &&
               !tape_.sources[index(slot)].is_reshaped;
  });
  if (!possible) return false;
  call.each_result([&](Slot slot) {
    const Place& place = places_[index(slot)];
    const at::Tensor& root = tape_.at(place.root);
    const std::ptrdiff_t of_root = memory_of(root) - static_cast<std::byte*>(root.storage().mutable_data());
    tape_.values[index(slot)] = tensor_in(root.storage(), of_root + place.offset, tape_.at(slot));
    kept_[index(slot)] = true;
  });
  return true;
}

void Player::add_step(std::size_t call) {
  Step step{.call = call};
  if (tape_.calls[call].kernel) {
    const auto add = [&](Slot slot) { step.operands.push_back(&tape_.at(slot)); };
    tape_.calls[call].each_result(add);
    tape_.calls[call].each_read(add);
  }
  steps_.push_back(std::move(step));
}

// A result of a recorded call is freed behind the last call that reads its memory, unless the caller reads it.
void Player::find_last_uses() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::size_t end = ends_[index(places_[i].root)];
    if (kept_[i] || tape_.sources[i].kind != SourceKind::result || end == kNever) continue;
    const auto behind = std::find_if(steps_.rbegin(), steps_.rend(), [&](const Step& one) { return one.call < end; });
    if (behind != steps_.rend()) behind->last_uses.push_back(static_cast<Slot>(i));
  }
}

std::unique_ptr<Player> player_of(const Tape& first, Tape second, CommonMemory& common) {
  if (const std::string found = difference(first, second); !found.empty()) throw NotStatic{.reason = found};
  leave_out_new_kernels(first, second);
  return std::make_unique<Player>(std::move(second), common);
}

std::size_t Player::own_calls() const {
  return static_cast<std::size_t>(
      std::count_if(steps_.begin(), steps_.end(), [](const Step& one) { return !one.operands.empty(); }));
}

const std::vector<at::Tensor>& Player::forward(const std::vector<at::Tensor>& batch) {
  const at::AutoDispatchBelowADInplaceOrView below;
  for (std::size_t i = 0; i < tape_.sources.size(); ++i) {
    const Tape::Source& source = tape_.sources[i];
    if (source.kind == SourceKind::batch) tape_.values[i] = batch[source.index];
    if (source.kind == SourceKind::gradient) tape_.values[i] = (*tape_.around.parameters)[source.index].second.grad();
  }
  next_ = 0;
  is_watched_ = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value();
  run_until(tape_.calls_of_forward);
  outputs_.clear();
  for (const Slot slot : tape_.outputs) outputs_.push_back(tape_.at(slot));
  return outputs_;
}

void Player::backward(const Duties& duties) {
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto complete = tape_.complete.begin();
    auto sum = tape_.sums.begin();
    std::vector<std::function<void()>> waits;
    while (complete != tape_.complete.end() || sum != tape_.sums.end()) {
      const bool is_sum = complete == tape_.complete.end() || (sum != tape_.sums.end() && *sum < complete->before);
      run_until(is_sum ? *sum : complete->before);
      if (is_sum) {
        waits.push_back(duties.start_sum(tape_.around.buffers[static_cast<std::size_t>(sum++ - tape_.sums.begin())]));
      } else {
        duties.complete(complete->parameter, tape_.at(complete->slot));
        ++complete;
      }
    }
    run_until(tape_.calls.size());
    for (std::size_t i = 0; i < tape_.gradients_after.size(); ++i) {
      if (tape_.gradients_after[i] == Tape::kNone) continue;
      (*tape_.around.parameters)[i].second.mutable_grad() = tape_.at(tape_.gradients_after[i]);
    }
    if (duties.share_use) waits.push_back(duties.share_use());
    for (const auto& wait : waits) wait();
  }
  drop_results();
}

void Player::drop_results() {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_[i]) tape_.values[i].reset();
  }
}

void Player::fill_with_nan(bool on) {
  fills_ = on;
  for (std::size_t i = 0; on && i < kept_.size(); ++i) {
    const bool owns_memory = kept_[i] && tape_.sources[i].kind == SourceKind::result &&
                             places_[i].root == static_cast<Slot>(i) && !is_in_bucket(tape_.values[i]);
    if (owns_memory) fill_with_ones(tape_.values[i]);
  }
}

// Runs the steps of the calls before this one.
void Player::run_until(std::size_t call) {
  for (; next_ < steps_.size() && steps_[next_].call < call; ++next_) run(steps_[next_]);
}

void Player::run(const Step& step) {
  const Tape::Call& now = tape_.calls[step.call];
  if (now.kernel) {
    if (is_watched_) {
      run_watched(step);
    } else {
      now.kernel.run(step.operands.data());
    }
  } else {
    call(now);
  }
  for (const Slot slot : step.last_uses) tape_.values[index(slot)].reset();
}

// Shows a kernel's call to a profiler, as the dispatcher does with the other calls.
void Player::run_watched(const Step& step) {
  const Tape::Call& now = tape_.calls[step.call];
  at::RecordFunction shown(at::RecordScope::FUNCTION);
  if (shown.isActive()) {
    put_arguments(now);
    shown.before(std::cref(now.operation.schema()), &stack_);
  }
  now.kernel.run(step.operands.data());
}

// Puts the arguments of a call on the stack.
void Player::put_arguments(const Tape::Call& call) {
  stack_.assign(call.arguments.begin(), call.arguments.end());
  for (const Tape::Late& late : call.late) {
    if (late.place == Tape::kNone) continue;
    c10::IValue& argument = stack_[static_cast<std::size_t>(late.place)];
    if (!late.is_list) {
      argument = tape_.at(late.slots.front());
    } else if (late.is_optional) {
      c10::List<std::optional<at::Tensor>> list;
      for (const Slot slot : late.slots) {
        list.push_back(slot == Tape::kNone ? std::optional<at::Tensor>() : tape_.at(slot));
      }
      argument = std::move(list);
    } else {
      c10::List<at::Tensor> list;
      for (const Slot slot : late.slots) list.push_back(tape_.at(slot));
      argument = std::move(list);
    }
  }
}

void Player::call(const Tape::Call& call) {
  put_arguments(call);
  {
    const at::AutoGradMode mode(call.grad);
    call.operation.callBoxed(stack_);
  }
  if (fills_ && leaves_unwritten(call.operation)) fill_with_ones(stack_.front().toTensor());
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const Tape::Result& result = call.results[i];
    const auto take = [this](Slot slot, const at::Tensor& tensor) {
      if (slot != Tape::kNone && !is_kept(slot)) tape_.values[index(slot)] = tensor;
    };
    if (result.is_list) {
      const std::vector<at::Tensor> tensors = stack_[i].toTensorVector();
      for (std::size_t k = 0; k < tensors.size(); ++k) take(result.slots[k], tensors[k]);
    } else if (!result.slots.empty()) {
      take(result.slots.front(), stack_[i].toTensor());
    }
  }
  stack_.clear();
}

}  // namespace ddp::train
