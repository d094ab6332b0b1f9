#pragma once

#include <set>
#include <string>

#include <nlohmann/json.hpp>

namespace ddp::graph {

// Switches a graph of model.train(), of the schema's type Graph, to evaluation: the arguments that say that the model
// trains, of dropout, batch_norm, instance_norm, the recurrent layers and attention's dropout; and the nodes that count
// batches go. `counters` are the graph's names of batch norm's counters. Throws std::runtime_error where the graph is
// damaged.
void switch_to_evaluation(nlohmann::json& graph, const std::set<std::string>& counters);

}  // namespace ddp::graph
