// Random lists of calls of the operators that a graph may call (python/operators.txt), with random arguments, drawn by
// a seed: eagerly and replayed, with gradients and without, the same bits. DDP_GRAPHS says how many; a soak takes
// 100,000 (scripts/soak replay).
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>

#include "catch.h"
#include "graph/argument_checks.h"
#include "graph/operators.h"
#include "train/replay/player.h"

namespace ddp::train {
namespace {

constexpr std::int64_t kRows = 4, kWidth = 6;
constexpr std::int64_t kMostNumbers = 4096;

// Every overload of an allowed operator that returns tensors. Shapes that depend on values are never replayed.
std::vector<c10::OperatorHandle> allowed_operators() {
  std::vector<c10::OperatorHandle> all;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const bool is_aten = name.name.starts_with("aten::");
    if (!is_aten || name.overload_name.find("out") != std::string::npos || !graph::is_allowed(name.name.substr(6)))
      continue;
    const auto operation = c10::Dispatcher::singleton().findSchema(name);
    if (!operation || operation->hasTag(at::Tag::data_dependent_output)) continue;
    const auto& returns = operation->schema().returns();
    const bool gives_tensors = !returns.empty() && returns[0].type()->isSubtypeOf(*c10::TensorType::get());
    if (gives_tensors || (!returns.empty() && returns[0].type()->kind() == c10::TypeKind::ListType))
      all.push_back(*operation);
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return toString(a.operator_name()) < toString(b.operator_name()); });
  return all;
}

// A call whose tensors are places in the list of all tensors so far.
struct DrawnCall {
  c10::OperatorHandle operation;
  std::vector<c10::IValue> arguments;
  std::vector<std::vector<std::size_t>> tensors;  // of each argument; empty: none
};

class DrawnGraph {
 public:
  explicit DrawnGraph(unsigned seed) : engine_(seed) {
    static const std::vector<c10::OperatorHandle> operators = allowed_operators();
    at::manual_seed(seed);
    parameters_ = {{"weight", at::randn({kWidth, kWidth}).requires_grad_()},
                   {"scale", at::randn({kWidth}).requires_grad_()}};
    for (std::int64_t wanted = from(1, 6), tries = 0; wanted > 0 && tries < 200; ++tries) {
      const auto& operation = operators[static_cast<std::size_t>(from(0, std::ssize(operators) - 1))];
      if (try_call(operation)) --wanted;
    }
  }

  std::string words() const {
    std::string all;
    for (const DrawnCall& call : calls_) all += toString(call.operation.operator_name()) + ", ";
    return all;
  }

  // Compares three replays with eager runs for other numbers. Returns false if it is not static.
  bool check(bool with_gradients) {
    const at::AutoGradMode mode(with_gradients);
    std::optional<Tape> first;
    std::unique_ptr<Player> player;
    CommonMemory common;
    try {
      first = recorded(with_gradients);
      first->drop_results();
      player = player_of(*first, recorded(with_gradients), common);
    } catch (const NotStatic&) {
      return false;
    } catch (const std::exception&) {
      return false;  // the calls do not take other numbers
    }
    for (unsigned i = 0; i < 3; ++i) {
      const std::vector<at::Tensor> batch = new_batch();
      at::manual_seed(i);
      std::vector<at::Tensor> eager;
      try {
        eager = run(copies(batch), with_gradients);
      } catch (const std::exception&) {
        continue;  // these numbers are not allowed: a division by zero
      }
      at::manual_seed(i);
      clear_gradients();
      player->fill_with_nan(true);
      std::vector<at::Tensor> replayed;
      for (const at::Tensor& output : player->forward(copies(batch))) replayed.push_back(output.clone());
      if (with_gradients) player->backward({.complete = [](std::size_t, const at::Tensor&) {}, .start_sum = {}});
      player->drop_results();
      for (const auto& [name, parameter] : parameters_) replayed.push_back(parameter.grad());
      REQUIRE(replayed.size() == eager.size());
      for (std::size_t k = 0; k < eager.size(); ++k) {
        INFO("tensor " << k);
        REQUIRE(same(eager[k], replayed[k]));
      }
    }
    return true;
  }

 private:
  std::int64_t from(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool one_in(std::int64_t count) { return from(1, count) == 1; }

  static std::vector<at::Tensor> copies(const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> all;
    for (const at::Tensor& tensor : tensors) all.push_back(tensor.clone());
    return all;
  }
  // NaN of any kind is NaN: which of two a product keeps depends on the order of its factors.
  static bool same(const at::Tensor& a, const at::Tensor& b) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined();
    const auto plain = [](const at::Tensor& one) {
      const at::Tensor resolved = one.detach().resolve_conj().resolve_neg();
      return (resolved.is_complex() ? at::view_as_real(resolved) : resolved).contiguous();
    };
    const at::Tensor x = plain(a), y = plain(b);
    if (x.sizes() != y.sizes() || x.scalar_type() != y.scalar_type()) return false;
    if (!x.is_floating_point()) return x.equal(y);
    return at::isnan(x).equal(at::isnan(y)) && at::nan_to_num(x).equal(at::nan_to_num(y));
  }
  static std::vector<at::Tensor> new_batch() {
    return {at::randn({kRows, kWidth}), at::randint(kWidth, {kRows, kWidth}, at::kLong)};
  }
  void clear_gradients() {
    for (const auto& [name, parameter] : parameters_) parameter.mutable_grad().reset();
  }

  // Runs the calls on a batch. Returns the outputs; with gradients also the gradients.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& batch, bool with_gradients,
                              Recording* recording = nullptr) {
    clear_gradients();
    const at::Tensor& x = batch[0];
    std::vector<at::Tensor> tensors = {at::matmul(x, parameters_[0].second) * parameters_[1].second, x, batch[1]};
    for (const DrawnCall& call : calls_) make(call, tensors);
    std::vector<at::Tensor> outputs;
    at::Tensor loss = tensors[0].pow(2).mean() + batch[1].sum() * 0;
    for (std::size_t i = 1; i < tensors.size(); ++i) {
      const at::Tensor& one = tensors[i];
      outputs.push_back(one);
      if (!one.requires_grad() || one.numel() == 0) continue;
      const at::Tensor real = one.is_complex() ? at::view_as_real(one.resolve_conj()) : one;
      loss = loss + real.to(at::kFloat).mean();
    }
    outputs.push_back(loss);
    if (recording != nullptr) calls_of_forward_ = recording->calls.size();
    if (with_gradients) loss.backward();
    last_outputs_ = outputs;
    for (at::Tensor& output : outputs) output = output.detach();
    for (const auto& [name, parameter] : parameters_) outputs.push_back(parameter.grad());
    return outputs;
  }

  static void make(const DrawnCall& call, std::vector<at::Tensor>& tensors) {
    std::vector<c10::IValue> stack = call.arguments;
    for (std::size_t i = 0; i < stack.size(); ++i) {
      const std::vector<std::size_t>& places = call.tensors[i];
      if (places.empty()) continue;
      const auto& type = call.operation.schema().arguments()[i].type();
      if (type->kind() != c10::TypeKind::ListType) {
        stack[i] = tensors[places.front()];
      } else if (type->castRaw<c10::ListType>()->getElementType()->kind() == c10::TypeKind::OptionalType) {
        c10::List<std::optional<at::Tensor>> list;
        for (const std::size_t place : places) list.push_back(tensors[place]);
        stack[i] = std::move(list);
      } else {
        c10::List<at::Tensor> list;
        for (const std::size_t place : places) list.push_back(tensors[place]);
        stack[i] = std::move(list);
      }
    }
    const graph::ArgumentCheck check(call.operation.schema());
    if (check) check(stack);
    call.operation.callBoxed(stack);
    for (const c10::IValue& result : stack) {
      const auto take = [&](const at::Tensor& tensor) {
        const bool is_sound = tensor.defined() && std::all_of(tensor.sizes().begin(), tensor.sizes().end(),
                                                              [](std::int64_t size) { return size >= 0; });
        TORCH_CHECK(is_sound && tensor.numel() <= kMostNumbers && !tensor.is_sparse(), "not wanted");
        tensors.push_back(tensor);
      };
      if (result.isTensor()) take(result.toTensor());
      if (result.isTensorList()) {
        for (const at::Tensor& tensor : result.toTensorVector()) take(tensor);
      }
    }
  }

  Tape recorded(bool with_gradients) {
    const std::vector<at::Tensor> batch = new_batch();
    Recording recording;
    const Recorder recorder(recording);
    run(batch, with_gradients, &recording);
    static const NamedTensors none;
    return tape_of(recording, {.batch = batch, .parameters = with_gradients ? &parameters_ : &none}, last_outputs_,
                   calls_of_forward_);
  }

  // Appends a call with random arguments, if the list then still runs and is static.
  bool try_call(const c10::OperatorHandle& operation) {
    std::size_t tensors = 3;
    try {
      const at::NoGradGuard no_grad;
      std::vector<at::Tensor> all = {at::randn({kRows, kWidth}), at::randn({kRows, kWidth}), new_batch()[1]};
      for (const DrawnCall& call : calls_) make(call, all);
      tensors = all.size();
      sizes_.clear();
      memory_.clear();
      for (const at::Tensor& one : all) {
        sizes_.push_back(one.sizes().vec());
        memory_.push_back(one.has_storage() ? one.storage().unsafeGetStorageImpl() : nullptr);
      }
    } catch (const std::exception&) {
      return false;
    }
    DrawnCall call{.operation = operation, .arguments = {}, .tensors = {}};
    for (const c10::Argument& argument : operation.schema().arguments()) {
      call.tensors.emplace_back();
      const bool by_default = argument.default_value() && !one_in(2);
      call.arguments.push_back(by_default ? *argument.default_value()
                                          : value_for(*argument.real_type(), tensors, call.tensors.back()));
      if (!call.arguments.back().isNone() || !call.tensors.back().empty()) continue;
      if (!argument.default_value() && argument.type()->kind() != c10::TypeKind::OptionalType) return false;
    }
    if (writes_an_input(call) || leaves_result(call)) return false;
    calls_.push_back(std::move(call));
    try {
      const at::AutoGradMode mode(true);
      recorded(/*with_gradients=*/true);
      return true;
    } catch (const NotStatic&) {
    } catch (const std::exception&) {
    }
    calls_.pop_back();
    return false;
  }

  // Has an out argument the memory of another argument? Then the call may read what it has resized: its results are
  // undefined.
  bool writes_an_input(const DrawnCall& call) const {
    const auto& arguments = call.operation.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const bool is_out =
          arguments[i].kwarg_only() && arguments[i].alias_info() && arguments[i].alias_info()->isWrite();
      for (std::size_t j = 0; is_out && j < arguments.size(); ++j) {
        for (const std::size_t out : call.tensors[i]) {
          const auto shares = [&](std::size_t other) { return memory_[out] == memory_[other]; };
          if (j != i && std::any_of(call.tensors[j].begin(), call.tensors[j].end(), shares)) return true;
        }
      }
    }
    return false;
  }

  // Does PyTorch leave the memory of the result as it is? It does so for this loss of an empty batch.
  bool leaves_result(const DrawnCall& call) const {
    if (!call.operation.schema().name().starts_with("aten::multilabel_margin_loss")) return false;
    const std::vector<std::int64_t>& sizes = sizes_[call.tensors.front().front()];
    return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  }

  // Returns a value of a type, or chooses tensors by their places.
  c10::IValue value_for(const c10::Type& type, std::size_t tensors, std::vector<std::size_t>& chosen) {
    const auto any_tensor = [&] { return static_cast<std::size_t>(from(0, static_cast<std::int64_t>(tensors) - 1)); };
    switch (type.kind()) {
      case c10::TypeKind::TensorType:
        chosen = {one_in(3) ? any_tensor() : one_in(2) ? tensors - 1 : 0};
        return {};
      case c10::TypeKind::OptionalType: {
        const auto& element = *type.castRaw<c10::OptionalType>()->getElementType();
        const bool is_where =
            element.kind() == c10::TypeKind::DeviceObjType || element.kind() == c10::TypeKind::GeneratorType;
        const bool is_layout =
            element.kind() == c10::TypeKind::LayoutType || element.kind() == c10::TypeKind::MemoryFormatType;
        if (is_where || is_layout) return {};
        return one_in(2) ? c10::IValue() : value_for(element, tensors, chosen);
      }
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        return from(-1, 4);
      case c10::TypeKind::ScalarTypeType: {
        const at::ScalarType types[] = {at::kFloat, at::kDouble, at::kLong, at::kInt, at::kComplexFloat, at::kBool};
        return static_cast<std::int64_t>(types[from(0, 5)]);
      }
      case c10::TypeKind::FloatType:
        return static_cast<double>(from(-4, 8)) / 4;
      case c10::TypeKind::NumberType:
        return one_in(3) ? c10::IValue(from(-2, 4)) : c10::IValue(static_cast<double>(from(-8, 8)) / 4);
      case c10::TypeKind::BoolType:
        return one_in(2);
      case c10::TypeKind::StringType: {
        const char* const words[] = {"none", "tanh", "sum", "mean", "prod", "amax", "floor", "trunc", "linear", "fro"};
        return std::string(words[from(0, 9)]);
      }
      case c10::TypeKind::ListType: {
        const auto& element = *type.castRaw<c10::ListType>()->getElementType();
        const std::int64_t count = from(1, 3);
        if (element.kind() == c10::TypeKind::TensorType || element.kind() == c10::TypeKind::OptionalType) {
          for (std::int64_t i = 0; i < count; ++i)
            chosen.push_back(element.kind() == c10::TypeKind::OptionalType ? 2 : any_tensor());
          return {};
        }
        if (element.kind() == c10::TypeKind::FloatType)
          return c10::List<double>(std::vector<double>(static_cast<std::size_t>(count), 1.5));
        if (element.kind() == c10::TypeKind::BoolType) return {};
        if (one_in(3)) return c10::List<std::int64_t>(sizes_[any_tensor()]);
        c10::List<std::int64_t> numbers;
        for (std::int64_t i = 0; i < count; ++i) numbers.push_back(from(-2, 4));
        return numbers;
      }
      default:
        return {};
    }
  }

  std::mt19937 engine_;
  NamedTensors parameters_;
  std::vector<DrawnCall> calls_;
  std::vector<std::vector<std::int64_t>> sizes_;  // of all tensors so far
  std::vector<const void*> memory_;               // the same
  std::vector<at::Tensor> last_outputs_;
  std::size_t calls_of_forward_ = 0;
};

}  // namespace

TEST_CASE("random calls of the allowed operators have the same bits eagerly and replayed") {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const char* const given = std::getenv("DDP_GRAPHS");
  const unsigned count = given == nullptr ? 200 : static_cast<unsigned>(std::stoul(given));
  unsigned replayed = 0;
  std::set<std::string> seen;
  for (unsigned seed = 0; seed < count; ++seed) {
    DrawnGraph graph(seed);
    INFO("seed " << seed << ": " << graph.words());
    const bool trained = graph.check(/*with_gradients=*/true), measured = graph.check(/*with_gradients=*/false);
    if (trained && measured) ++replayed;
    std::istringstream words(graph.words());
    for (std::string word; words >> word;) seen.insert(word);
  }
  at::set_num_threads(threads);
  WARN(replayed << " of " << count << " graphs were replayed, with " << seen.size() << " operators");
  CHECK(replayed > count / 2);
}

}  // namespace ddp::train
