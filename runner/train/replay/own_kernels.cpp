#include "train/replay/recorder.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/_log_softmax_backward_data_cpu_dispatch.h>
#include <ATen/ops/_log_softmax_cpu_dispatch.h>
#include <ATen/ops/_softmax_backward_data_cpu_dispatch.h>
#include <ATen/ops/_softmax_cpu_dispatch.h>
#include <ATen/ops/add_cpu_dispatch.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/elu_backward_cpu_dispatch.h>
#include <ATen/ops/elu_cpu_dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/gelu_backward_cpu_dispatch.h>
#include <ATen/ops/gelu_cpu_dispatch.h>
#include <ATen/ops/leaky_relu_backward_cpu_dispatch.h>
#include <ATen/ops/leaky_relu_cpu_dispatch.h>
#include <ATen/ops/mul_cpu_dispatch.h>
#include <ATen/ops/nll_loss_backward_cpu_dispatch.h>
#include <ATen/ops/nll_loss_forward_cpu_dispatch.h>
#include <ATen/ops/sigmoid_backward_cpu_dispatch.h>
#include <ATen/ops/sigmoid_cpu_dispatch.h>
#include <ATen/ops/silu_backward_cpu_dispatch.h>
#include <ATen/ops/silu_cpu_dispatch.h>
#include <ATen/ops/smooth_l1_loss_backward_cpu_dispatch.h>
#include <ATen/ops/sub_cpu_dispatch.h>
#include <ATen/ops/tanh_backward_cpu_dispatch.h>
#include <ATen/ops/tanh_cpu_dispatch.h>

#include "kernels/kernels.h"
#include "kernels/product.h"

namespace ddp::train {
namespace {

// A recorded call, as a maker of a kernel reads it.
class Signature {
 public:
  Signature(const RecordedCall& call, at::Tensor& scratch) : call_(call), scratch_(scratch) {}

  const RecordedCall& recorded() const { return call_; }
  at::Tensor& scratch() const { return scratch_; }
  const c10::IValue& argument(std::size_t i) const { return call_.arguments[i]; }
  const at::Tensor& tensor(std::size_t i) const { return argument(i).toTensor(); }
  const at::Tensor& result() const { return call_.results.front().toTensor(); }

  bool is_one(std::size_t i) const { return argument(i).toScalar().toDouble() == 1; }
  bool is_float(std::size_t i) const { return argument(i).isTensor() && tensor(i).scalar_type() == at::kFloat; }
  // These tensors and the result are of floats in the same places.
  bool is_pointwise(std::initializer_list<std::size_t> operands) const {
    return gives_floats() && std::all_of(operands.begin(), operands.end(), [this](std::size_t i) {
             return is_float(i) && tensor(i).sizes() == result().sizes() && tensor(i).strides() == result().strides();
           });
  }
  bool gives_floats() const { return result().scalar_type() == at::kFloat; }

  // Of a function that takes the results before the arguments: argument i, and the operand that it is.
  const c10::IValue& argument_behind_results(std::size_t i) const {
    return i < call_.results.size() ? call_.results[i] : call_.arguments[i - call_.results.size()];
  }
  std::size_t operand_of(std::size_t i, std::size_t& next) const {
    return argument_behind_results(i).isTensor() ? next++ : 0;
  }

 private:
  const RecordedCall& call_;
  at::Tensor& scratch_;
};

const float* in(Operands at, std::size_t i) { return at[i]->const_data_ptr<float>(); }
float* out(Operands at) { return at[0]->mutable_data_ptr<float>(); }

bool fits_int(std::int64_t number) { return number > 0 && number <= std::numeric_limits<int>::max(); }

// The layout of a matrix, as sgemm takes it.
std::optional<kernels::Layout> layout_of(const at::Tensor& matrix) {
  if (matrix.scalar_type() != at::kFloat || matrix.dim() != 2 || !fits_int(matrix.size(0)) || !fits_int(matrix.size(1)))
    return {};
  for (const bool by_columns : {false, true}) {
    const std::int64_t between = matrix.stride(by_columns ? 1 : 0), inside = matrix.stride(by_columns ? 0 : 1);
    if (inside == 1 && between >= matrix.size(by_columns ? 0 : 1) && fits_int(between)) {
      return kernels::Layout{.by_columns = by_columns, .stride = static_cast<int>(between)};
    }
  }
  return {};
}

// Operands: the result, the bias if there is one, and both factors.
void multiply(const kernels::Product& product, Operands at, const kernels::Product::Ending& ending) {
  const std::size_t first = product.has_bias() ? 2 : 1;
  product(in(at, first), in(at, first + 1), product.has_bias() ? in(at, 1) : nullptr, ending, out(at));
}

// Whether a kernel computes the results of a call, bit for bit. `scratch`: grows to the size of these results.
bool has_bits(const Kernel& kernel, const RecordedCall& call, at::Tensor& scratch) {
  constexpr std::int64_t kLine = 64;
  std::int64_t bytes = 0;
  std::vector<std::int64_t> places;
  for (const c10::IValue& result : call.results) {
    places.push_back(bytes);
    bytes += (static_cast<std::int64_t>(result.toTensor().nbytes()) + kLine - 1) / kLine * kLine;
  }
  if (!scratch.defined() || scratch.numel() < bytes) scratch = at::empty({bytes}, at::kByte);
  auto* const memory = scratch.mutable_data_ptr<std::uint8_t>();
  std::vector<at::Tensor> own;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const at::Tensor& expected = call.results[i].toTensor();
    own.push_back(at::from_blob(memory + places[i], expected.sizes(), expected.strides(), expected.options()));
  }
  std::vector<const at::Tensor*> operands;
  for (const at::Tensor& result : own) operands.push_back(&result);
  for (const c10::IValue& argument : call.arguments) {
    if (argument.isTensor()) operands.push_back(&argument.toTensor());
  }
  kernel.run(operands.data());
  for (std::size_t i = 0; i < own.size(); ++i) {
    const at::Tensor& expected = call.results[i].toTensor();
    if (std::memcmp(own[i].const_data_ptr(), expected.const_data_ptr(), expected.nbytes()) != 0) return false;
  }
  return true;
}

// Fewer numbers often have the same bits in several orders of additions.
constexpr std::int64_t kManyNumbers = 1024;
// Products of more numbers are not tried: sgemm is nearly as fast for them.
constexpr std::int64_t kMostNumbers = 1 << 24;

// Whether a kernel has ATen's bits for other numbers of a product, too, and at other addresses. A row of -0 times
// positive numbers, plus a bias of -0, is -0 if all sums begin with their first term, and +0 if one begins with +0.
bool has_bits_for_others(const Kernel& kernel, const RecordedCall& call, at::Tensor& scratch) {
  const at::AutoDispatchBelowADInplaceOrView below;
  std::mt19937 generator;
  const at::Tensor& result = call.results[0].toTensor();
  const bool has_bias = kernel.product->has_bias();
  const std::size_t first = has_bias ? 1 : 0;
  // Every second round has rows of -0, the odd ones first: a single row has them in the third round.
  const std::int64_t least = result.size(0) > 1 ? 1 : 3;
  const std::int64_t rounds =
      result.numel() >= kManyNumbers ? least : std::max<std::int64_t>(8, kManyNumbers / result.numel());
  for (std::int64_t round = 0; round < rounds; ++round) {
    const auto shifted = [&](std::size_t i, float low) {
      const auto operand = static_cast<std::int64_t>(i) + 1;
      return numbers_like(call.arguments[i].toTensor(), low, (round + 1) * operand % 4, generator);
    };
    RecordedCall other{.operation = call.operation, .arguments = call.arguments, .results = {}};
    const at::Tensor a = shifted(first, -1);
    if (round % 2 == 0) a.slice(0, 1 - round / 2 % 2, a.size(0), 2).fill_(-0.0);
    other.arguments[first] = a;
    other.arguments[first + 1] = shifted(first + 1, 0);
    if (has_bias) {
      const at::Tensor bias = shifted(0, -1);
      bias.slice(0, 0, bias.size(0), 2).fill_(-0.0);
      other.arguments[0] = bias;
    }
    other.results = other.arguments;
    call.operation.callBoxed(other.results);
    if (!has_bits(kernel, other, scratch)) return false;
  }
  return true;
}

// The product of a call in the first order that has ATen's bits for random numbers: what was recorded may consist of
// few numbers, or of zeros.
Kernel product(const Signature& call, const at::Tensor& a, const at::Tensor& b, bool has_bias) {
  using kernels::Order;
  const auto left = layout_of(a), right = layout_of(b);
  if (!left || !right || !call.result().is_contiguous()) return {};
  const int m = static_cast<int>(a.size(0)), n = static_cast<int>(b.size(1)), k = static_cast<int>(a.size(1));
  const bool tries_loops = at::get_num_threads() == 1 && a.numel() + b.numel() + call.result().numel() <= kMostNumbers;
  const auto orders = tries_loops ? kernels::orders_for(*left, *right, k) : std::vector<Order>{Order::of_blas};
  const auto kernel_of = [&](Order order) {
    const auto made = std::make_shared<kernels::Product>(*left, *right, m, n, k, has_bias, order);
    return Kernel{.run = [made](Operands at) { multiply(*made, at, {}); }, .product = made};
  };
  // Tried once for a size: a step is recorded twice, and layers often have the same sizes.
  static thread_local std::map<std::vector<int>, std::optional<Order>> tried;
  std::vector<int> key{at::get_num_threads(), m, n, k, has_bias, left->by_columns, left->stride, right->by_columns,
                       right->stride};
  for (const Order order : orders) key.push_back(static_cast<int>(order));
  const auto [known, is_new] = tried.try_emplace(std::move(key));
  for (auto order = orders.begin(); is_new && !known->second && order != orders.end(); ++order) {
    const bool is_recorded_enough = *order == Order::of_blas && call.result().numel() >= kManyNumbers;
    if (is_recorded_enough || has_bits_for_others(kernel_of(*order), call.recorded(), call.scratch())) {
      known->second = *order;
    }
  }
  return known->second ? kernel_of(*known->second) : Kernel{};
}

Kernel mm(const Signature& call) { return product(call, call.tensor(0), call.tensor(1), /*has_bias=*/false); }

Kernel addmm(const Signature& call) {
  const at::Tensor& bias = call.tensor(0);
  if (!call.is_float(0) || bias.dim() != 1 || bias.numel() != call.result().size(1) || !call.is_one(3) ||
      !call.is_one(4))
    return {};
  return product(call, call.tensor(1), call.tensor(2), /*has_bias=*/true);
}

Kernel relu(const Signature& call) {
  if (!call.is_pointwise({0})) return {};
  return Kernel{[count = call.result().numel()](Operands at) { kernels::relu(in(at, 1), out(at), count); }};
}

Kernel threshold_backward(const Signature& call) {
  if (!call.is_pointwise({0, 1})) return {};
  return Kernel{[count = call.result().numel(), threshold = call.argument(2).toScalar().to<float>()](Operands at) {
    kernels::threshold_backward(in(at, 1), in(at, 2), threshold, out(at), count);
  }};
}

Kernel sum_dim(const Signature& call) {
  const at::Tensor& matrix = call.tensor(0);
  const c10::IValue& dims = call.argument(1);
  if (!call.is_float(0) || !call.gives_floats()) return {};
  const bool of_rows = dims.isIntList() && dims.toIntVector() == std::vector<std::int64_t>{0};
  if (!of_rows || matrix.dim() != 2 || !matrix.is_contiguous() || matrix.size(0) < 2) return {};
  return Kernel{[rows = matrix.size(0), columns = matrix.size(1)](Operands at) {
    kernels::sum_rows(in(at, 1), rows, columns, out(at));
  }};
}

Kernel mse_loss(const Signature& call) {
  const at::Tensor &a = call.tensor(0), &b = call.tensor(1);
  if (call.argument(2).toInt() != at::Reduction::Mean || !call.is_float(0) || !call.is_float(1) ||
      a.sizes() != b.sizes() || !a.is_contiguous() || !b.is_contiguous()) {
    return {};
  }
  const auto squares = std::make_shared<std::vector<float>>(static_cast<std::size_t>(a.numel()));
  return Kernel{[squares, count = a.numel()](Operands at) {
    kernels::squared_difference(in(at, 1), in(at, 2), squares->data(), count);
    *out(at) = kernels::sum(squares->data(), count) / static_cast<float>(count);
  }};
}

Kernel mse_loss_backward(const Signature& call) {
  if (call.argument(3).toInt() != at::Reduction::Mean || !call.is_float(0) || call.tensor(0).dim() != 0 ||
      !call.is_pointwise({1, 2})) {
    return {};
  }
  const std::int64_t count = call.result().numel();
  return Kernel{[count, factor = static_cast<float>(2.0 / static_cast<double>(count))](Operands at) {
    kernels::mse_backward(*in(at, 1), in(at, 2), in(at, 3), factor, out(at), count);
  }};
}

Kernel ones_like(const Signature& call) {
  if (!call.gives_floats()) return {};
  return Kernel{[count = call.result().numel()](Operands at) { std::fill_n(out(at), count, 1.0F); }};
}

// An argument of one of ATen's functions that write into given tensors. A tensor is an operand of the call; anything
// else is the recorded constant.
template <class T>
struct Argument {
  explicit Argument(const c10::IValue& value, std::size_t) : constant(value.to<T>()) {}
  T get(Operands) const { return constant; }
  T constant;
};
template <>
struct Argument<at::Tensor&> {
  Argument(const c10::IValue&, std::size_t place) : operand(place) {}
  at::Tensor& get(Operands at) const { return const_cast<at::Tensor&>(*at[operand]); }
  std::size_t operand;
};
template <>
struct Argument<const at::Tensor&> : Argument<at::Tensor&> {
  using Argument<at::Tensor&>::Argument;
};
template <>
struct Argument<const std::optional<at::Tensor>&> {
  Argument(const c10::IValue& value, std::size_t place) : operand(place), is_there(value.isTensor()) {}
  std::optional<at::Tensor> get(Operands at) const {
    return is_there ? std::optional<at::Tensor>(*at[operand]) : std::nullopt;
  }
  std::size_t operand;
  bool is_there;
};
template <>
struct Argument<const at::Scalar&> {
  Argument(const c10::IValue& value, std::size_t) : constant(value.toScalar()) {}
  const at::Scalar& get(Operands) const { return constant; }
  at::Scalar constant;
};
template <>
struct Argument<c10::string_view> {
  Argument(const c10::IValue& value, std::size_t) : constant(value.toStringView()) {}
  c10::string_view get(Operands) const { return constant; }
  std::string constant;
};

// A call of ATen's kernel itself, without the dispatcher, with its results in kept memory.
template <auto kFunction>
struct Direct;
template <class Result, class... Arguments, Result (*kFunction)(Arguments...)>
struct Direct<kFunction> {
  static Kernel make(const Signature& call) { return make(call, std::index_sequence_for<Arguments...>()); }

  template <std::size_t... kPlaces>
  static Kernel make(const Signature& call, std::index_sequence<kPlaces...>) {
    // In braces, arguments are evaluated in their order: `operand` counts results, then tensors.
    std::size_t operand = 0;
    const std::tuple<Argument<Arguments>...> arguments{
        Argument<Arguments>(call.argument_behind_results(kPlaces), call.operand_of(kPlaces, operand))...};
    return Kernel{[arguments](Operands at) { kFunction(std::get<kPlaces>(arguments).get(at)...); }};
  }
};

// A number in a tensor: DDP divides each gradient by the number of ranks with one of type double.
bool is_number(const at::Tensor& tensor) {
  return tensor.dim() == 0 && (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble);
}
float number_in(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? static_cast<float>(*tensor.const_data_ptr<double>())
                                             : *tensor.const_data_ptr<float>();
}

// A product with a number, or with as many numbers.
Kernel mul(const Signature& call) {
  if (!call.argument(1).isTensor() || call.tensor(1).dim() > 0) return Direct<at::cpu::mul_out>::make(call);
  if (!call.is_pointwise({0}) || !is_number(call.tensor(1))) return {};
  return Kernel{
      [count = call.result().numel()](Operands at) { kernels::scale(in(at, 1), number_in(*at[2]), out(at), count); }};
}

// A gradient into its place in a bucket.
Kernel copy(const Signature& call) {
  if (!call.is_pointwise({0, 1}) || call.tensor(0).is_alias_of(call.tensor(1))) return {};
  return Kernel{[bytes = call.result().nbytes()](Operands at) { std::memcpy(out(at), in(at, 2), bytes); }};
}

void draw(at::CPUGeneratorImpl& generator, double p, float* out, std::int64_t count) {
  const std::lock_guard lock(generator.mutex_);
  at::mt19937 engine = generator.engine();
  at::mt19937_data_pod data = engine.data();
  kernels::Twister twister{.state = data.state_.data(), .left = data.left_, .next = data.next_};
  kernels::bernoulli(twister, p, out, count);
  data.left_ = twister.left;
  data.next_ = twister.next;
  engine.set_data(data);
  generator.set_engine(engine);
}

// Whether this LibTorch draws so, for numbers that begin at even and odd words of its generator.
bool draws_as_aten() {
  const at::AutoDispatchBelowADInplaceOrView below;
  at::Generator of_aten = at::detail::createCPUGenerator(7), own = of_aten.clone();
  for (const auto& [p, count] : {std::pair(0.9, 3000), {0.1, 1}, {0.5, 700}, {1.0, 5}, {0.0, 5}, {1.0 / 3, 1500}}) {
    const at::Tensor expected = at::empty({count}, at::kFloat).bernoulli_(p, of_aten);
    std::vector<float> found(static_cast<std::size_t>(count));
    draw(*at::check_generator<at::CPUGeneratorImpl>(own), p, found.data(), count);
    if (std::memcmp(expected.const_data_ptr(), found.data(), expected.nbytes()) != 0) return false;
    for (at::Generator* const one : {&of_aten, &own}) at::check_generator<at::CPUGeneratorImpl>(*one)->random();
    if (!of_aten.get_state().equal(own.get_state())) return false;
  }
  return true;
}

// The masks of dropout.
Kernel bernoulli(const Signature& call) {
  static const bool kDrawsAsAten = draws_as_aten();
  if (!kDrawsAsAten || !call.gives_floats() || !call.argument(2).isNone()) return {};
  return Kernel{.run =
                    [p = call.argument(1).toDouble(), count = call.result().numel()](Operands at) {
                      const at::Generator& generator = at::detail::getDefaultCPUGenerator();
                      draw(*at::check_generator<at::CPUGeneratorImpl>(generator), p, out(at), count);
                    },
                .draws = true};
}

std::string name_of(const c10::OperatorHandle& operation) {
  const c10::OperatorName& name = operation.operator_name();
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

using Maker = Kernel (*)(const Signature&);

Maker maker_of(const c10::OperatorHandle& operation) {
  namespace cpu = at::cpu;
  static const std::unordered_map<std::string, Maker> makers = {
      {"aten::mm", mm},
      {"aten::addmm", addmm},
      {"aten::relu", relu},
      {"aten::threshold_backward", threshold_backward},
      {"aten::sum.dim_IntList", sum_dim},
      {"aten::mse_loss", mse_loss},
      {"aten::mse_loss_backward", mse_loss_backward},
      {"aten::ones_like", ones_like},
      {"aten::copy_", copy},
      {"aten::bernoulli_.float", bernoulli},
      {"aten::mul.out", mul},
      {"aten::mul.Tensor", mul},
      {"aten::_log_softmax", Direct<cpu::_log_softmax_out>::make},
      {"aten::_log_softmax_backward_data", Direct<cpu::_log_softmax_backward_data_out>::make},
      {"aten::_softmax", Direct<cpu::_softmax_out>::make},
      {"aten::_softmax_backward_data", Direct<cpu::_softmax_backward_data_out>::make},
      {"aten::nll_loss_forward", Direct<cpu::nll_loss_forward_out>::make},
      {"aten::nll_loss_backward", Direct<cpu::nll_loss_backward_out>::make},
      {"aten::sigmoid", Direct<cpu::sigmoid_out>::make},
      {"aten::sigmoid_backward", Direct<cpu::sigmoid_backward_out>::make},
      {"aten::tanh", Direct<cpu::tanh_out>::make},
      {"aten::tanh_backward", Direct<cpu::tanh_backward_out>::make},
      {"aten::gelu", Direct<cpu::gelu_out>::make},
      {"aten::gelu_backward", Direct<cpu::gelu_backward_out>::make},
      {"aten::silu", Direct<cpu::silu_out>::make},
      {"aten::silu_backward", Direct<cpu::silu_backward_out>::make},
      {"aten::elu", Direct<cpu::elu_out>::make},
      {"aten::elu_backward", Direct<cpu::elu_backward_out>::make},
      {"aten::leaky_relu", Direct<cpu::leaky_relu_out>::make},
      {"aten::leaky_relu_backward", Direct<cpu::leaky_relu_backward_out>::make},
      {"aten::smooth_l1_loss_backward", Direct<cpu::smooth_l1_loss_backward_out>::make},
      {"aten::bmm", Direct<cpu::bmm_out>::make},
      {"aten::add.Tensor", Direct<cpu::add_out>::make},
      {"aten::sub.Tensor", Direct<cpu::sub_out>::make},
  };
  const auto found = makers.find(name_of(operation));
  return found == makers.end() ? nullptr : found->second;
}

// Whether it is no tensor, or one that kernels take.
bool is_plain(const c10::IValue& value) {
  if (!value.isTensor()) return !value.isTensorList();
  const at::Tensor& tensor = value.toTensor();
  return tensor.defined() && tensor.device().is_cpu() && tensor.layout() == at::kStrided && tensor.numel() > 0;
}

bool is_dense(const c10::IValue& result) {
  return result.isTensor() && is_plain(result) && result.toTensor().is_non_overlapping_and_dense();
}

}  // namespace

Kernel joined_kernel(const std::shared_ptr<kernels::Product>& product, const c10::OperatorHandle& call,
                     const std::vector<c10::IValue>& arguments, const at::Tensor* other) {
  const std::string name = name_of(call);
  const std::size_t place_of_other = product->has_bias() ? 4 : 3;
  if (name == "aten::relu" && product->takes_ending()) {
    return Kernel{[product](Operands at) { multiply(*product, at, {.relu = true}); }};
  }
  if (name == "aten::threshold_backward" && product->takes_gate()) {
    return Kernel{[product, place_of_other, threshold = arguments[2].toScalar().to<float>()](Operands at) {
      multiply(*product, at, {.gate = in(at, place_of_other), .threshold = threshold});
    }};
  }
  if (name == "aten::mul.out" && product->takes_ending() && is_number(*other)) {
    return Kernel{[product, place_of_other](Operands at) {
      multiply(*product, at, {.scales = true, .factor = number_in(*at[place_of_other])});
    }};
  }
  return {};
}

at::Tensor numbers_like(const at::Tensor& other, float low, std::int64_t shift, std::mt19937& generator) {
  std::int64_t extent = 1;
  for (std::int64_t d = 0; d < other.dim(); ++d) extent += (other.size(d) - 1) * other.stride(d);
  const at::Tensor numbers = at::empty({shift + extent}, at::kFloat);
  std::generate_n(numbers.mutable_data_ptr<float>(), shift + extent,
                  [&] { return low + (1 - low) * 0x1p-32F * static_cast<float>(generator()); });
  return numbers.as_strided(other.sizes(), other.strides(), shift);
}

Kernel own_kernel(const RecordedCall& call, at::Tensor& scratch) {
  const Maker maker = maker_of(call.operation);
  if (maker == nullptr || !std::all_of(call.arguments.begin(), call.arguments.end(), is_plain) ||
      !std::all_of(call.results.begin(), call.results.end(), is_dense)) {
    return {};
  }
  Kernel kernel = maker(Signature(call, scratch));
  return kernel && (kernel.draws || has_bits(kernel, call, scratch)) ? kernel : Kernel{};
}

}  // namespace ddp::train
