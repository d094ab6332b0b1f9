#include "graph/evaluation.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "config/text/json_text.h"

namespace ddp::graph {
namespace {

using nlohmann::json;

// An argument that selects training mode, with its value in evaluation.
struct Switch {
  std::string_view operation;
  std::string_view argument;
  bool is_share = false;                // a share of values to drop, not a flag
  std::string_view statistics_in = {};  // the switch applies only if this argument is a tensor
};

constexpr std::array kSwitches = {
    Switch{"dropout", "train"},
    Switch{"native_dropout", "train"},
    Switch{"alpha_dropout", "train"},
    Switch{"feature_dropout", "train"},
    Switch{"feature_alpha_dropout", "train"},
    Switch{"rrelu", "training"},
    Switch{"batch_norm", "training", false, "running_mean"},
    Switch{"instance_norm", "use_input_stats", false, "running_mean"},
    Switch{"lstm", "train"},
    Switch{"gru", "train"},
    Switch{"rnn_tanh", "train"},
    Switch{"rnn_relu", "train"},
    Switch{"scaled_dot_product_attention", "dropout_p", true},
    Switch{"_scaled_dot_product_attention_math", "dropout_p", true},
};

template <class Json>
Json* find_argument(Json& inputs, std::string_view name) {
  for (Json& input : inputs) {
    if (input.is_object() && input.contains("name") && input.at("name") == name && input.contains("arg")) {
      return &input.at("arg");
    }
  }
  return nullptr;
}

// `operation` is the operator's name in ATen, "dropout" or "dropout_".
void switch_arguments(std::string_view operation, json& inputs) {
  if (operation.ends_with('_')) operation.remove_suffix(1);
  for (const Switch& one : kSwitches) {
    if (one.operation != operation) continue;
    if (!one.statistics_in.empty()) {
      const json* statistics = find_argument(inputs, one.statistics_in);
      if (statistics == nullptr || !statistics->contains("as_tensor")) return;
    }
    json* argument = find_argument(inputs, one.argument);
    if (argument == nullptr) return;  // the default selects evaluation
    *argument = one.is_share ? json{{"as_float", 0.0}} : json{{"as_bool", false}};
  }
}

// Batch norm counts the batches seen in training.
bool counts_batches(std::string_view operation, const json& inputs, const std::set<std::string>& counters) {
  if (operation != "add_" && operation != "add") return false;
  if (inputs.empty()) return false;
  const json& first = config::member(inputs.front(), "arg");
  return first.contains("as_tensor") && counters.contains(config::text_member(first.at("as_tensor"), "name"));
}

// A part of the model with its own gradient mode is a graph among the arguments.
bool has_graph(const json& input) {
  return input.is_object() && input.contains("arg") && input.at("arg").contains("as_graph");
}

// The operator of a target such as "torch.ops.aten.add_.Tensor"; "" for other targets.
std::string_view aten_operator(std::string_view target) {
  constexpr std::string_view kAtenOps = "torch.ops.aten.";
  if (!target.starts_with(kAtenOps)) return "";
  target.remove_prefix(kAtenOps.size());
  return target.substr(0, target.rfind('.'));
}

// Counts the calls that act in training only: batch norms with running statistics, and dropouts of some share.
struct TrainingCalls {
  int on = 0;
  int off = 0;

  void count(const json& graph) {
    for (const json& node : config::member(graph, "nodes")) {
      const std::string target = config::text_member(node, "target");
      const json& inputs = config::member(node, "inputs");
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
  if (aten_operator(config::text_member(node, "target")) != "batch_norm") return false;
  if (!node.contains("metadata") || !node.at("metadata").is_object()) return false;
  const auto modules = node.at("metadata").find("nn_module_stack");
  return modules != node.at("metadata").end() && modules->is_string() &&
         modules->get_ref<const std::string&>().ends_with(".SyncBatchNorm");
}

}  // namespace

bool has_synchronised_norms(const json& graph) {
  for (const json& node : config::member(graph, "nodes")) {
    if (is_synchronised_norm(node)) return true;
    for (const json& input : config::member(node, "inputs")) {
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

void switch_to_evaluation(json& graph, const std::set<std::string>& counters) {
  const auto nodes = graph.find("nodes");
  if (nodes == graph.end() || !nodes->is_array()) throw std::runtime_error("its graph has no list of nodes");
  json kept = json::array();
  for (json& node : *nodes) {
    const std::string target = config::text_member(node, "target");
    config::member(node, "inputs");
    json& inputs = node["inputs"];
    if (!inputs.is_array()) throw std::runtime_error("a node has no list of inputs");
    const std::string_view operation = aten_operator(target);
    if (counts_batches(operation, inputs, counters)) continue;
    switch_arguments(operation, inputs);
    for (json& input : inputs) {
      if (has_graph(input)) switch_to_evaluation(input["arg"]["as_graph"]["graph"], counters);
    }
    kept.push_back(std::move(node));
  }
  *nodes = std::move(kept);
}

}  // namespace ddp::graph
