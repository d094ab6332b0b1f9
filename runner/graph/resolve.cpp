#include "graph/resolve.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/embedded.h"
#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "graph/archive.h"
#include "graph/argument_checks.h"
#include "graph/arguments.h"
#include "graph/operators.h"

namespace ddp::graph {

extern const std::span<const EmbeddedFile> kSwitches;  // python/switches.txt

namespace {

using config::member;
using config::text_member;
using nlohmann::json;

constexpr std::string_view kAten = "torch.ops.aten.";

// An argument that selects training mode.
struct Switch {
  std::string argument = {};
  json off = {};                   // its value in evaluation: false, or 0.0 of a share of values to drop
  std::string statistics_in = {};  // the switch applies only if this argument is a tensor
};

std::map<std::string, Switch, std::less<>> read_switches() {
  std::map<std::string, Switch, std::less<>> all;
  std::istringstream lines{std::string(kSwitches.front().text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, off;
    Switch one;
    words >> name >> one.argument >> off >> one.statistics_in;
    if (name == "#") continue;
    one.off = json::parse(off);
    all.emplace(name, one);
  }
  return all;
}

// `operation` is the operator's name in ATen, "dropout" or "dropout_". Null: training does not change it.
const Switch* find_switch(std::string_view operation) {
  static const auto all = read_switches();
  if (operation.ends_with('_')) operation.remove_suffix(1);
  const auto found = all.find(operation);
  return found == all.end() ? nullptr : &found->second;
}

template <class Json>
Json* find_argument(Json& inputs, std::string_view name) {
  for (Json& input : inputs) {
    if (input.is_object() && input.contains("name") && input.at("name") == name && input.contains("arg")) {
      return &input.at("arg");
    }
  }
  return nullptr;
}

void switch_arguments(std::string_view operation, json& inputs) {
  const Switch* const found = find_switch(operation);
  if (found == nullptr) return;
  if (!found->statistics_in.empty()) {
    const json* statistics = find_argument(inputs, found->statistics_in);
    if (statistics == nullptr || !statistics->contains("as_tensor")) return;
  }
  // Without the argument, the default selects evaluation.
  if (json* argument = find_argument(inputs, found->argument)) {
    *argument = json{{found->off.is_boolean() ? "as_bool" : "as_float", found->off}};
  }
}

// Tells whether a call that training mode makes random is so.
bool drops_values(std::string_view operation, const json& inputs) {
  const Switch* const found = find_switch(operation);
  if (found == nullptr || !found->statistics_in.empty()) return false;
  const json* const given = find_argument(inputs, found->argument);
  if (given == nullptr) return false;
  if (!found->off.is_boolean()) return given->value("as_float", 0.0) != 0;
  const json* share = find_argument(inputs, "p");
  if (share == nullptr) share = find_argument(inputs, "dropout");
  return *given == json{{"as_bool", true}} && (share == nullptr || share->value("as_float", 1.0) != 0);
}

// Batch norm counts the batches seen in training.
bool counts_batches(std::string_view operation, const json& inputs, const std::set<std::string>& counters) {
  if (operation != "add_" && operation != "add") return false;
  if (inputs.empty()) return false;
  const json& first = member(inputs.front(), "arg");
  return first.contains("as_tensor") && counters.contains(text_member(first.at("as_tensor"), "name"));
}

// A part of the model with its own gradient mode is a graph among the arguments.
bool has_graph(const json& input) {
  return input.is_object() && input.contains("arg") && input.at("arg").contains("as_graph");
}

// The operator of a target such as "torch.ops.aten.add_.Tensor"; "" for other targets.
std::string_view aten_operator(std::string_view target) {
  if (!target.starts_with(kAten)) return "";
  target.remove_prefix(kAten.size());
  return target.substr(0, target.rfind('.'));
}

// Switches a graph of model.train() (the schema's type Graph) to evaluation. Changes the arguments that select training
// mode, of dropout, batch_norm, instance_norm, the recurrent layers and attention's dropout; removes the nodes that
// count batches. `counters` are the graph's names of batch norm's counters. Throws std::runtime_error if the graph is
// damaged.
void switch_to_evaluation(json& graph, std::set<std::string> counters) {
  const auto nodes = graph.find("nodes");
  if (nodes == graph.end() || !nodes->is_array()) throw std::runtime_error("its graph has no list of nodes");
  json kept = json::array();
  for (json& node : *nodes) {
    const std::string target = text_member(node, "target");
    member(node, "inputs");
    json& inputs = node["inputs"];
    if (!inputs.is_array()) throw std::runtime_error("a node has no list of inputs");
    const std::string_view operation = aten_operator(target);
    if (counts_batches(operation, inputs, counters)) {
      // A batch norm that forward calls twice counts on from the result.
      for (const json& output : member(node, "outputs")) {
        if (output.contains("as_tensor")) counters.insert(text_member(output.at("as_tensor"), "name"));
      }
      continue;
    }
    switch_arguments(operation, inputs);
    for (json& input : inputs) {
      if (has_graph(input)) switch_to_evaluation(input["arg"]["as_graph"]["graph"], counters);
    }
    kept.push_back(std::move(node));
  }
  *nodes = std::move(kept);
}

// Counts the calls that act in training only: batch norms with running statistics, and dropouts of some share.
struct TrainingCalls {
  int on = 0;
  int off = 0;

  void count(const json& graph) {
    for (const json& node : member(graph, "nodes")) {
      const std::string target = text_member(node, "target");
      const json& inputs = member(node, "inputs");
      count_call(aten_operator(target), inputs);
      for (const json& input : inputs) {
        if (has_graph(input)) count(input.at("arg").at("as_graph").at("graph"));
      }
    }
  }

 private:
  void count_call(std::string_view operation, const json& inputs) {
    if (operation.ends_with('_')) operation.remove_suffix(1);
    const bool norm = operation == "batch_norm";
    if (!norm && !operation.ends_with("dropout")) return;
    const json* given = find_argument(inputs, norm ? "running_mean" : "p");
    if (given == nullptr || (norm ? !given->contains("as_tensor") : given->value("as_float", 0.0) == 0.0)) return;
    const json* flag = find_argument(inputs, norm ? "training" : "train");
    if (flag != nullptr) ++(*flag == json{{"as_bool", true}} ? on : off);
  }
};

// A node names the modules around it: "L__self__norm,norm,torch.nn.modules.batchnorm.SyncBatchNorm".
bool is_synchronised_norm(const json& node) {
  if (aten_operator(text_member(node, "target")) != "batch_norm") return false;
  if (!node.contains("metadata") || !node.at("metadata").is_object()) return false;
  const auto modules = node.at("metadata").find("nn_module_stack");
  return modules != node.at("metadata").end() && modules->is_string() &&
         modules->get_ref<const std::string&>().ends_with(".SyncBatchNorm");
}

}  // namespace

bool has_synchronised_norms(const json& graph) {
  for (const json& node : member(graph, "nodes")) {
    if (is_synchronised_norm(node)) return true;
    for (const json& input : member(node, "inputs")) {
      if (has_graph(input) && has_synchronised_norms(input.at("arg").at("as_graph").at("graph"))) return true;
    }
  }
  return false;
}

bool is_of_evaluation(const json& graph) {
  TrainingCalls calls;
  calls.count(graph);
  return calls.off > 0 && calls.on == 0;
}

namespace {

constexpr std::size_t kLongestTrace = 1 << 16;
constexpr std::size_t kLongestCode = 200;

// Removes and returns the text before a mark, and removes the mark; without a mark, the whole text.
std::string_view take_until(std::string_view& text, std::string_view mark) {
  const std::size_t end = text.find(mark);
  const std::string_view taken = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + mark.size());
  return taken;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, kLongestCode);
}

// Returns the line of the user's Python code that made a node: "model.py, line 12: x = self.fc(x)". Skips frames of the
// package torch and of code that torch generates, unless all frames are such. Empty if the graph does not record the
// line.
std::string source_line(const nlohmann::json& node) {
  if (!node.contains("metadata") || !node.at("metadata").is_object()) return "";
  const auto& metadata = node.at("metadata");
  if (!metadata.contains("stack_trace") || !metadata.at("stack_trace").is_string()) return "";
  const auto& trace = metadata.at("stack_trace").get_ref<const std::string&>();
  std::string_view rest = std::string_view(trace).substr(0, kLongestTrace);
  std::string line;
  bool found_users = false;
  // A frame is: File "model.py", line 12, in forward, and the code on the next line.
  for (take_until(rest, "File \""); !rest.empty(); take_until(rest, "File \"")) {
    const std::string_view file = take_until(rest, "\", line ");
    const std::string_view number = take_until(rest, ",");
    take_until(rest, "\n");
    const std::string_view code = trimmed(rest.substr(0, rest.find('\n')));
    // Code generated by torch has no file: "<eval_with_key>.11".
    const bool is_users = file.find("/torch/") == std::string_view::npos && !file.starts_with('<');
    if (found_users && !is_users) continue;
    found_users = found_users || is_users;
    line = std::string(file.substr(file.rfind('/') + 1)) + ", line " + std::string(number);
    if (!code.empty()) line += ": " + std::string(code);
  }
  return config::printable(line);
}

using Kind = CallList::Call::Kind;

// Does the operator write into a tensor that it gets as a keyword: aten.add.out, aten.sort.values?
bool writes_to_keyword(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), [](const c10::Argument& argument) {
    return argument.kwarg_only() && argument.alias_info() != nullptr && argument.alias_info()->isWrite();
  });
}

// The error of a node: add_nodes() adds the line of the user's Python code.
Error refusal(const std::string& what, const std::string& remedy) { return usage_error(what, "", remedy); }

// The slots of a model's tensors and of views of them. Evaluation must not write to these.
class KeptTensors {
 public:
  void add(CallList::Slot slot, const std::string& name) { names_.emplace(slot, name); }

  // Records the views that a call returns. Throws if the call writes to a tensor of the model.
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
    throw refusal("changes the tensor " + config::in_quotes(name) + " of the model even in evaluation",
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
    for (const Program::Output& output : program_.outputs)
      list_.outputs.emplace_back(output.name, values_.slot(output.value));
    list_.file = program_.file;
    list_.skips_empty = program_.skips_empty;
    list_.device = use_.device;
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
      } catch (const Error& error) {
        if (!error.where().empty()) throw;  // of a node in a graph that this node calls
        refuse(node, error.summary(), error.remedy());
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
    } else if (target == "torch.ops.aten._assert_tensor_metadata.default") {
      // torch.export notes the type that a tensor had before .float(); with autocast it has another one.
    } else if (target.starts_with(kAten)) {
      add_operation(node, target);
    } else if (target == "torch.ops.higher_order.wrap_with_set_grad_enabled") {
      add_region(node, grad_region(node), /*graph_at=*/1);
    } else if (target == "torch.ops.higher_order.wrap_with_autocast") {
      add_region(node, autocast_region(node), /*graph_at=*/4);
    } else if (target.starts_with("torch.ops.higher_order.")) {
      throw refusal("calls " + config::in_quotes(target) + ": data-dependent control flow is not supported",
                    "write the model without torch.cond, torch.while_loop or similar functions");
    } else if (target.starts_with("torch.ops.")) {
      throw refusal("calls the custom operator " + config::in_quotes(target), "use operators of PyTorch itself");
    } else {
      throw refusal("calls " + config::in_quotes(target) + ", which is not allowed in a graph", "");
    }
  }

  void add_operation(const json& node, const std::string& target) {
    const std::string name(aten_operator(target));
    std::string overload = target.substr(std::min(kAten.size() + name.size() + 1, target.size()));
    if (overload.empty()) throw std::runtime_error("it is damaged: its operator lacks an overload");
    if (overload == "default") overload.clear();
    const std::string calls = "calls aten." + config::printable(name + (overload.empty() ? "" : "." + overload));
    const Error not_allowed = refusal(calls + ", which is not an allowed operator", "replace it in the model");
    if (!is_allowed(name)) throw not_allowed;
    const bool random = use_.evaluates && draws(name);
    list_.draws_alike = list_.draws_alike || random;
    const bool drops = use_.evaluates && !use_.is_switched && drops_values(name, member(node, "inputs"));
    if (drops || (random && use_.is_switched)) {
      throw refusal("draws random numbers with aten." + name + " even in evaluation",
                    use_.is_switched
                        ? "export model.eval() as well and name that file: model.eval; python/export_model.py does so"
                        : "drop only if self.training, and export the model again");
    }
    const auto handle = c10::Dispatcher::singleton().findSchema({"aten::" + name, overload});
    if (!handle) throw refusal(calls + ", which this PyTorch lacks", "");
    if (writes_to_keyword(handle->schema())) throw not_allowed;
    list_.operators.push_back(std::make_unique<const c10::OperatorHandle>(*handle));
    CallList::Call call{.operation = list_.operators.back().get(), .source = source_line(node)};
    call.check = ArgumentCheck(handle->schema());
    call.reshapes = reshapes_in_place(name);
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
    throw refusal("gives the embedding a sparse gradient, and gradients must be dense",
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
    for (const auto& [name, slot] : list_.outputs) last[static_cast<std::size_t>(slot)] = nullptr;
    for (std::size_t slot = 0; slot < last.size(); ++slot) {
      if (last[slot] != nullptr && list_.values[slot].isNone()) {
        last[slot]->last_uses.push_back(static_cast<CallList::Slot>(slot));
      }
    }
  }

  static json graph_for(const Program& program, const Use& use) {
    return use.evaluates && use.is_switched ? graph_of_evaluation(program) : program.graph;
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
