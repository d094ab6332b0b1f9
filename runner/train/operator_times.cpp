#include "train/operator_times.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace ddp::train {
namespace {

using CallClock = std::chrono::steady_clock;
using Values = c10::ArrayRef<const c10::IValue>;

double seconds_since(CallClock::time_point then) {
  return std::chrono::duration<double>(CallClock::now() - then).count();
}

const at::Tensor* tensor_at(Values values, std::size_t i) {
  return i < values.size() && values[i].isTensor() && values[i].toTensor().defined() ? &values[i].toTensor() : nullptr;
}

// Each of these counts multiplications, each of which has its addition.

// `first`: the place of the two matrices.
double of_product(Values inputs, std::size_t first) {
  const at::Tensor *a = tensor_at(inputs, first), *b = tensor_at(inputs, first + 1);
  return a == nullptr || b == nullptr ? 0 : static_cast<double>(a->numel()) * static_cast<double>(b->size(-1));
}

// `outer`: the tensor each of whose numbers is multiplied with a filter.
double of_convolution(const at::Tensor& outer, const at::Tensor& weight) {
  return static_cast<double>(outer.numel()) * static_cast<double>(weight.numel()) / static_cast<double>(weight.size(0));
}

double of_convolution_backward(Values inputs) {
  const at::Tensor *gradient = tensor_at(inputs, 0), *input = tensor_at(inputs, 1), *weight = tensor_at(inputs, 2);
  if (gradient == nullptr || input == nullptr || weight == nullptr || !inputs[10].isBoolList()) return 0;
  const auto wanted = inputs[10].toBoolList();
  return of_convolution(inputs[7].toBool() ? *input : *gradient, *weight) * (int{wanted[0]} + int{wanted[1]});
}

// Of one of the products in attention. `first`: the place of query and key.
double of_attention(Values inputs, std::size_t first) {
  const at::Tensor *query = tensor_at(inputs, first), *key = tensor_at(inputs, first + 1);
  return query == nullptr || key == nullptr ? 0
                                            : static_cast<double>(query->numel()) * static_cast<double>(key->size(-2));
}

// Counts from the inputs alone. A convolution's count needs its output: `filter` gets its weight.
double multiplications(std::string_view name, Values inputs, at::Tensor& filter) {
  if (name == "aten::mm" || name == "aten::bmm") return of_product(inputs, 0);
  if (name == "aten::addmm" || name == "aten::baddbmm") return of_product(inputs, 1);
  if (name == "aten::convolution_backward") return of_convolution_backward(inputs);
  if (name.starts_with("aten::_scaled_dot_product_")) {
    return name.ends_with("_backward") ? 5 * of_attention(inputs, 1) : 2 * of_attention(inputs, 0);
  }
  if (name != "aten::convolution") return 0;
  const at::Tensor *input = tensor_at(inputs, 0), *weight = tensor_at(inputs, 1);
  if (input == nullptr || weight == nullptr) return 0;
  if (inputs[6].toBool()) return of_convolution(*input, *weight);  // transposed
  filter = *weight;
  return 0;
}

OperatorTimes* counting = nullptr;

}  // namespace

struct OperatorTimes::Call : at::ObserverContext {
  // The calls that run now in this thread, the outermost first.
  static thread_local std::vector<Call*> running;

  CallClock::time_point began;
  double multiplications = 0;
  double of_parts = 0;  // the multiplications of the calls that it makes
  at::Tensor filter;
};

thread_local std::vector<OperatorTimes::Call*> OperatorTimes::Call::running;

OperatorTimes::OperatorTimes() {
  counting = this;
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(begin, end).needsInputs(true).needsOutputs(true).scopes({at::RecordScope::FUNCTION}));
}

OperatorTimes::~OperatorTimes() { stop(); }

void OperatorTimes::stop() {
  if (handle_ == at::INVALID_CALLBACK_HANDLE) return;
  at::removeCallback(std::exchange(handle_, at::INVALID_CALLBACK_HANDLE));
  counting = nullptr;
}

std::unique_ptr<at::ObserverContext> OperatorTimes::begin(const at::RecordFunction& function) {
  // The autograd engine also tells of its own work around operators.
  if (!function.operator_name()) return nullptr;
  auto call = std::make_unique<Call>();
  call->multiplications = multiplications(function.name(), function.inputs(), call->filter);
  Call::running.push_back(call.get());
  call->began = CallClock::now();
  return call;
}

void OperatorTimes::end(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context == nullptr) return;
  Call& call = *static_cast<Call*>(context);
  const double seconds = seconds_since(call.began);
  Call::running.pop_back();
  if (call.filter.defined() && !function.outputs().empty()) {
    if (const at::Tensor* output = tensor_at(Values(function.outputs().data(), 1), 0))
      call.multiplications = of_convolution(*output, call.filter);
  }
  // A product that is part of another one is counted there.
  const double counted = call.multiplications > 0 ? call.multiplications : call.of_parts;
  if (Call::running.empty()) {
    counting->add(function.name(), seconds, 2 * counted);
  } else {
    Call::running.back()->of_parts += counted;
  }
}

void OperatorTimes::add(const std::string& name, double seconds, double operations) {
  if (!counts_) return;
  const std::lock_guard lock(mutex_);
  const std::size_t space = name.rfind("::");
  Row& row = rows_[space == std::string::npos ? name : name.substr(space + 2)];
  ++row.calls;
  row.seconds += seconds;
  row.operations += operations;
}

double peak_rate(c10::Device device, at::ScalarType type) {
  // Without instructions for the type, a product takes a thousand times longer: sizes grow until one takes this long.
  constexpr double kLongEnough = 0.01;
  const at::NoGradGuard no_grad;
  const std::int64_t largest = device.is_cpu() ? 1024 : 8192;
  double best = 0, seconds = 0;
  for (std::int64_t size = 128; size <= largest && seconds < kLongEnough; size *= 2) {
    const at::Tensor ones = at::ones({size, size}, at::TensorOptions().device(device).dtype(type));
    for (int i = 0; i < 10; ++i) {
      const auto began = CallClock::now();
      const at::Tensor product = at::mm(ones, ones);
      if (!device.is_cpu()) c10::impl::getDeviceGuardImpl(device.type())->synchronizeDevice(device.index());
      seconds = seconds_since(began);
      best = std::max(best, 2 * static_cast<double>(size * size * size) / seconds);
    }
  }
  return best;
}

}  // namespace ddp::train
