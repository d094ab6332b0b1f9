#pragma once

#include <set>
#include <string>

#include <nlohmann/json.hpp>

namespace ddp::graph {

// Switches a graph of model.train() (the schema's type Graph) to evaluation. Changes the arguments that select training
// mode, of dropout, batch_norm, instance_norm, the recurrent layers and attention's dropout; removes the nodes that
// count batches. `counters` are the graph's names of batch norm's counters. Throws std::runtime_error if the graph is
// damaged.
void switch_to_evaluation(nlohmann::json& graph, const std::set<std::string>& counters);

}  // namespace ddp::graph
