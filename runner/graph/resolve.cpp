#include "graph/resolve.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "graph/argument_checks.h"
#include "graph/arguments.h"
#include "graph/arithmetic.h"
#include "graph/evaluation.h"
#include "graph/operators.h"
#include "graph/source_line.h"

namespace ddp::graph {
namespace {

using config::member;
using config::text_member;
using nlohmann::json;
using Kind = CallList::Call::Kind;

constexpr std::string_view kOps = "torch.ops.";
constexpr std::string_view kAten = "torch.ops.aten.";
constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";

// The operator of a target such as "torch.ops.aten.add_.Tensor".
struct OperatorName {
  std::string name;
  std::string overload;  // "" for the default one
};

OperatorName operator_name(std::string_view target) {
  target.remove_prefix(kAten.size());
  const std::size_t dot = target.rfind('.');
  if (dot == std::string_view::npos) throw std::runtime_error("it is damaged: its operator lacks an overload");
  const std::string_view overload = target.substr(dot + 1);
  return {.name = std::string(target.substr(0, dot)), .overload = std::string(overload == "default" ? "" : overload)};
}

// Does the operator write into a tensor that it gets as a keyword: aten.add.out, aten.sort.values?
bool writes_to_keyword(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), [](const c10::Argument& argument) {
    return argument.kwarg_only() && argument.alias_info() != nullptr && argument.alias_info()->isWrite();
  });
}

// An error with an optional remedy.
struct Refusal : std::runtime_error {
  Refusal(const std::string& what, std::string what_to_do) : std::runtime_error(what), remedy(std::move(what_to_do)) {}
  std::string remedy;
};

// The slots of a model's tensors and of views of them. Evaluation must not write to these.
class KeptTensors {
 public:
  void add(CallList::Slot slot, const std::string& name) { names_.emplace(slot, name); }

  // Records the views that a call returns. Throws Refusal if the call writes to a tensor of the model.
  void follow(const c10::FunctionSchema& schema, const CallList::Call& call) {
    for (const CallList::Late& late : call.late) {
      const c10::AliasInfo* alias = schema.arguments()[static_cast<std::size_t>(late.place)].alias_info();
      if (alias == nullptr) continue;
      for (const CallList::Element& element : late.elements) {
        const auto kept = names_.find(element.slot);
        if (kept == names_.end()) continue;
        if (alias->isWrite()) refuse(kept->second);
        const std::string name = kept->second;
        add_views(schema, *alias, call, name);
      }
    }
  }

 private:
  [[noreturn]] static void refuse(const std::string& name) {
    throw Refusal("changes the tensor " + config::in_quotes(name) + " of the model even in evaluation",
                  "export model.eval() as well and name that file: model.eval; python/export_model.py does so");
  }

  void add_views(const c10::FunctionSchema& schema, const c10::AliasInfo& of, const CallList::Call& call,
                 const std::string& name) {
    for (std::size_t i = 0; i < call.results.size() && i < schema.returns().size(); ++i) {
      const c10::AliasInfo* alias = schema.returns()[i].alias_info();
      const bool is_list = call.results[i].is_list;
      if (alias == nullptr && !is_list) continue;
      if (alias != nullptr && !is_list && alias->beforeSets() != of.beforeSets()) continue;
      for (const CallList::Slot slot : call.results[i].slots) add(slot, name);
    }
  }

  std::map<CallList::Slot, std::string> names_;
};

class Resolver {
 public:
  Resolver(const Program& program, const Use& use, const std::map<std::string, at::Tensor>& tensors)
      : program_(program), use_(use), graph_(graph_for(program, use)), values_(use.device, list_.values) {
    for (const Program::Bound& bound : program.bound) {
      const CallList::Slot slot = values_.add(bound.value);
      const auto tensor = tensors.find(bound.name);
      if (tensor == tensors.end()) {
        throw usage_error("has the weight " + config::in_quotes(bound.name) + ", which the model lacks", program.file);
      }
      list_.values[static_cast<std::size_t>(slot)] = tensor->second;
      kept_.add(slot, bound.name);
    }
    for (const Program::Input& input : program.inputs) list_.inputs.push_back(values_.add(input.value));
  }

  CallList resolve() {
    add_nodes(graph_);
    list_.output = values_.slot(program_.output);
    list_.file = program_.file;
    free_after_last_use();
    return std::move(list_);
  }

 private:
  void add_nodes(const json& graph) {
    const json& nodes = member(graph, "nodes");
    if (!nodes.is_array()) throw usage_error("its graph has no list of nodes", program_.file);
    for (const json& node : nodes) {
      try {
        add_node(node);
      } catch (const Refusal& error) {
        refuse(node, error.what(), error.remedy);
      } catch (const Error&) {
        throw;
      } catch (const c10::Error& error) {
        refuse(node, error.msg(), "");
      } catch (const std::exception& error) {
        refuse(node, error.what(), "");
      }
    }
  }

  [[noreturn]] void refuse(const json& node, const std::string& what, const std::string& remedy) const {
    const std::string line = source_line(node);
    throw usage_error(what + (line.empty() ? "" : "\n  in " + line), program_.file, remedy);
  }

  void add_node(const json& node) {
    const std::string target = text_member(node, "target");
    if (const CallList::Arithmetic function = arithmetic_named(target)) {
      add_arithmetic(node, function);
    } else if (target.starts_with(kAten)) {
      add_operation(node, operator_name(target));
    } else if (target == "torch.ops.higher_order.wrap_with_set_grad_enabled") {
      add_region(node, grad_region(node), /*graph_at=*/1);
    } else if (target == "torch.ops.higher_order.wrap_with_autocast") {
      add_region(node, autocast_region(node), /*graph_at=*/4);
    } else if (target.starts_with(kHigherOrder)) {
      throw Refusal("calls " + config::in_quotes(target) + ": data-dependent control flow is not supported",
                    "write the model without torch.cond, torch.while_loop or similar functions");
    } else if (target.starts_with(kOps)) {
      throw Refusal("calls the custom operator " + config::in_quotes(target), "use operators of PyTorch itself");
    } else {
      throw Refusal("calls " + config::in_quotes(target) + ", which is not allowed in a graph", "");
    }
  }

  void add_operation(const json& node, const OperatorName& name) {
    const std::string calls =
        "calls aten." + config::printable(name.name + (name.overload.empty() ? "" : "." + name.overload));
    const Refusal not_allowed(calls + ", which is not an allowed operator", "replace it in the model");
    if (!is_allowed(name.name)) throw not_allowed;
    if (use_.evaluates && draws(name.name)) {
      throw Refusal("draws random numbers with aten." + name.name + " even in evaluation",
                    use_.is_switched
                        ? "export model.eval() as well and name that file: model.eval; python/export_model.py does so"
                        : "draw only if self.training, and export the model again");
    }
    const auto handle = c10::Dispatcher::singleton().findSchema({"aten::" + name.name, name.overload});
    if (!handle) throw Refusal(calls + ", which this PyTorch lacks", "");
    if (writes_to_keyword(handle->schema())) throw not_allowed;
    list_.operators.push_back(std::make_unique<const c10::OperatorHandle>(*handle));
    CallList::Call call{.operation = list_.operators.back().get(), .source = source_line(node)};
    call.check = ArgumentCheck(handle->schema());
    call.reshapes = reshapes_in_place(name.name);
    values_.set_arguments(handle->schema(), member(node, "inputs"), call);
    require_dense_gradient(handle->schema(), call);
    call.results = values_.add_results(member(node, "outputs"));
    if (use_.evaluates && use_.is_switched) kept_.follow(handle->schema(), call);
    if (call.results.size() > handle->schema().returns().size()) throw std::runtime_error("has too many results");
    add_call(std::move(call));
  }

  // Strategies and optimizers take dense gradients only.
  static void require_dense_gradient(const c10::FunctionSchema& schema, const CallList::Call& call) {
    const auto place = schema.argumentIndexWithName("sparse");
    if (!place || !call.arguments[static_cast<std::size_t>(*place)].isBool()) return;
    if (!call.arguments[static_cast<std::size_t>(*place)].toBool()) return;
    throw Refusal("gives the embedding a sparse gradient, and gradients must be dense",
                  "leave out sparse=True, and export the model again");
  }

  void add_arithmetic(const json& node, CallList::Arithmetic function) {
    CallList::Call call{.kind = Kind::arithmetic, .arithmetic = function, .source = source_line(node)};
    values_.set_numbers(member(node, "inputs"), call);
    call.results = values_.add_results(member(node, "outputs"));
    if (call.results.size() != 1 || call.results.front().is_list) throw std::runtime_error("must have one result");
    add_call(std::move(call));
  }

  static const json& argument_of(const json& node, std::size_t i, const char* kind) {
    const json& inputs = member(node, "inputs");
    if (!inputs.is_array() || i >= inputs.size()) throw std::runtime_error("an argument is missing");
    return member(member(inputs[i], "arg"), kind);
  }

  static bool flag_of(const json& node, std::size_t i) {
    const json& flag = argument_of(node, i, "as_bool");
    if (!flag.is_boolean()) throw std::runtime_error("a flag is missing");
    return flag.get<bool>();
  }

  CallList::Modes grad_region(const json& node) const {
    return {.grad = flag_of(node, 0), .device = use_.device.type()};
  }

  CallList::Modes autocast_region(const json& node) const {
    const json& type = argument_of(node, 1, "as_scalar_type");
    return {.grad = !no_grad_,
            .changes_autocast = true,
            .autocast = flag_of(node, 2),
            .autocast_type = scalar_type(config::as_count(type)),
            .device = use_.device.type()};
  }

  // Inserts the nodes of a graph that is an argument in place of its call.
  void add_region(const json& node, const CallList::Modes& modes, std::size_t graph_at) {
    const json& graph = member(argument_of(node, graph_at, "as_graph"), "graph");
    const bool outer_no_grad = std::exchange(no_grad_, !modes.grad);
    add_call({.kind = Kind::enter, .modes = modes});
    values_.enter(member(graph, "inputs"), member(node, "inputs"), graph_at + 1);
    add_nodes(graph);
    values_.leave(member(graph, "outputs"), member(node, "outputs"));
    add_call({.kind = Kind::leave});
    no_grad_ = outer_no_grad;
  }

  void add_call(CallList::Call call) { list_.calls.push_back(std::move(call)); }

  // Frees a value after its last use, as Python does.
  void free_after_last_use() {
    std::vector<CallList::Call*> last(list_.values.size(), nullptr);
    for (CallList::Call& call : list_.calls) {
      for (const auto& late : call.late) {
        for (const auto& element : late.elements) {
          if (element.slot != CallList::kNone) last[static_cast<std::size_t>(element.slot)] = &call;
        }
      }
      for (const auto& result : call.results) {
        for (const CallList::Slot slot : result.slots) {
          if (slot != CallList::kNone) last[static_cast<std::size_t>(slot)] = &call;
        }
      }
    }
    for (std::size_t slot = 0; slot < last.size(); ++slot) {
      const bool stays = !list_.values[slot].isNone() || static_cast<CallList::Slot>(slot) == list_.output;
      if (last[slot] != nullptr && !stays) last[slot]->last_uses.push_back(static_cast<CallList::Slot>(slot));
    }
  }

  static json graph_for(const Program& program, const Use& use) {
    return use.evaluates ? graph_of_evaluation(program) : program.graph;
  }

  const Program& program_;
  const Use& use_;
  const json graph_;
  CallList list_;
  GraphValues values_;
  KeptTensors kept_;
  bool no_grad_ = false;
};

}  // namespace

json graph_of_evaluation(const Program& program) {
  std::set<std::string> counters;
  for (const Program::Bound& bound : program.bound) {
    if (bound.name.ends_with("num_batches_tracked")) counters.insert(bound.value);
  }
  json graph = program.graph;
  switch_to_evaluation(graph, counters);
  return graph;
}

CallList resolve(const Program& program, const Use& use, const std::map<std::string, at::Tensor>& tensors) try {
  return Resolver(program, use, tensors).resolve();
} catch (const Error&) {
  throw;
} catch (const std::exception& error) {
  throw usage_error(error.what(), program.file);
}

}  // namespace ddp::graph
