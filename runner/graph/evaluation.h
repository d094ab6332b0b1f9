#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ddp::graph {

// Switches the arguments of a node, of the schema's type Node, that say that the model trains: dropout, batch_norm,
// instance_norm, the recurrent layers, and attention's dropout. `operation` is the operator's name in ATen.
void switch_to_evaluation(const std::string& operation, nlohmann::json& inputs);

}  // namespace ddp::graph
