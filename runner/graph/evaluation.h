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

// Tells whether the graph of a training has batch norms with running statistics or dropouts, and all of them are in
// evaluation mode: model.eval() was exported in place of model.train(). Throws std::runtime_error if the graph is
// damaged.
bool is_of_evaluation(const nlohmann::json& graph);

// Tells whether batch norms of the graph come from nn.SyncBatchNorm: the graph calls ordinary batch norm for them.
bool has_synchronised_norms(const nlohmann::json& graph);

}  // namespace ddp::graph
