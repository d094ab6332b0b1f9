#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <nlohmann/json.hpp>

#include "graph/call_list.h"
#include "graph/program.h"

namespace ddp::graph {

// How a graph is to be run.
struct Use {
  // Dropout does nothing and batch norm takes its running statistics, as after model.eval(). A graph of model.train()
  // has the other mode baked in, but for the operators that take it as an argument.
  bool evaluates = false;
  bool is_switched = true;         // to evaluate, the graph is one of model.train(), not of model.eval()
  c10::Device device = c10::kCPU;  // of all tensors, in place of the device on which the model was exported
};

// Resolves each call of a program's graph: its operator is looked up, its arguments are converted. `tensors` holds the
// tensors of the model by their names in Python. Throws ddp::Error (usage), with the line of the user's Python, for
// operators that are not allowed, for control flow and custom operators, and where an argument does not fit; and where
// the graph is to evaluate and draws random numbers that no argument switches off, or, if it is switched, writes into a
// buffer or a weight.
CallList resolve(const Program& program, const Use& use, const std::map<std::string, at::Tensor>& tensors);

// Returns a program's graph as `resolve` runs it to evaluate. Throws std::runtime_error where it is damaged.
nlohmann::json graph_of_evaluation(const Program& program);

}  // namespace ddp::graph
