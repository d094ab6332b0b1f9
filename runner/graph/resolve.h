#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <nlohmann/json.hpp>

#include "graph/executor.h"
#include "graph/program.h"

namespace ddp::graph {

// The use of a graph.
struct Use {
  // Evaluation: dropout does nothing and batch norm uses its running statistics, as after model.eval(). A graph of
  // model.train() has training mode built in, except for operators that take it as an argument.
  bool evaluates = false;
  bool is_switched = true;         // for evaluation: the graph comes from model.train(), not from model.eval()
  c10::Device device = c10::kCPU;  // of all tensors; it replaces the device of the export
};

// Resolves each call of a program's graph: looks up its operator and converts its arguments. `tensors` holds the
// model's tensors by their names in Python. Throws ddp::Error (usage), with the line of the user's Python code, for
// operators that are not allowed, for control flow and custom operators, and for arguments that do not fit. For
// evaluation, also throws if dropouts stay on, or if a switched graph draws random numbers that no argument switches
// off, or writes to a buffer or a weight.
CallList resolve(const Program& program, const Use& use, const std::map<std::string, at::Tensor>& tensors);

// Returns a program's graph in the form that `resolve` uses for evaluation. Throws std::runtime_error if it is damaged.
nlohmann::json graph_of_evaluation(const Program& program);

// Tells whether the graph of a training has batch norms with running statistics or dropouts, and all of them are in
// evaluation mode: model.eval() was exported in place of model.train(). Throws std::runtime_error if the graph is
// damaged.
bool is_of_evaluation(const nlohmann::json& graph);

// Tells whether batch norms of the graph come from nn.SyncBatchNorm: the graph calls ordinary batch norm for them.
bool has_synchronised_norms(const nlohmann::json& graph);

}  // namespace ddp::graph
