#include "graph/evaluation.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ddp::graph {
namespace {

using nlohmann::json;

// An argument that says that the model trains, and its value in evaluation.
struct Switch {
  std::string_view operation;
  std::string_view argument;
  bool is_share = false;                // a share of values to drop, not a flag
  std::string_view statistics_in = {};  // the switch counts only where this argument is a tensor
};

constexpr std::array kSwitches = {
    Switch{"dropout", "train"},
    Switch{"native_dropout", "train"},
    Switch{"alpha_dropout", "train"},
    Switch{"feature_dropout", "train"},
    Switch{"feature_alpha_dropout", "train"},
    Switch{"rrelu", "training"},
    Switch{"batch_norm", "training", false, "running_mean"},
    Switch{"native_batch_norm", "training", false, "running_mean"},
    Switch{"_native_batch_norm_legit", "training", false, "running_mean"},
    Switch{"instance_norm", "use_input_stats", false, "running_mean"},
    Switch{"lstm", "train"},
    Switch{"gru", "train"},
    Switch{"rnn_tanh", "train"},
    Switch{"rnn_relu", "train"},
    Switch{"scaled_dot_product_attention", "dropout_p", true},
    Switch{"_scaled_dot_product_flash_attention_for_cpu", "dropout_p", true},
    Switch{"_scaled_dot_product_attention_math", "dropout_p", true},
};

json* find_argument(json& inputs, std::string_view name) {
  for (json& input : inputs) {
    if (input.is_object() && input.contains("name") && input.at("name") == name && input.contains("arg")) {
      return &input.at("arg");
    }
  }
  return nullptr;
}

}  // namespace

void switch_to_evaluation(const std::string& operation, json& inputs) {
  const std::string_view name = operation.ends_with('_') ? std::string_view(operation).substr(0, operation.size() - 1)
                                                         : std::string_view(operation);
  for (const Switch& one : kSwitches) {
    if (one.operation != name) continue;
    if (!one.statistics_in.empty()) {
      const json* statistics = find_argument(inputs, one.statistics_in);
      if (statistics == nullptr || !statistics->contains("as_tensor")) return;
    }
    json* argument = find_argument(inputs, one.argument);
    if (argument == nullptr) return;  // its default is evaluation's
    *argument = one.is_share ? json{{"as_float", 0.0}} : json{{"as_bool", false}};
  }
}

}  // namespace ddp::graph
