#pragma once

#include <map>
#include <string>
#include <vector>

#include <ATen/core/function_schema.h>
#include <c10/core/Device.h>
#include <nlohmann/json.hpp>

#include "graph/executor.h"

namespace ddp::graph {

// The named values of a graph, each in a slot of a call list, and the arguments of its nodes. All functions throw
// std::runtime_error if the graph is damaged or an argument does not fit.
class GraphValues {
 public:
  // `slots` gets one value per slot: empty, except for constants.
  GraphValues(c10::Device device, std::vector<c10::IValue>& slots) : device_(device), slots_(slots), names_(1) {}

  // Adds a value and returns its slot.
  CallList::Slot add(const std::string& name);
  CallList::Slot slot(const std::string& name) const;

  // Converts the arguments of a call (the schema's type NamedArgument) to an operator's arguments.
  void set_arguments(const c10::FunctionSchema& schema, const nlohmann::json& inputs, CallList::Call& call) const;
  // Converts arguments that are numbers, or tensors whose sizes are read.
  void set_numbers(const nlohmann::json& inputs, CallList::Call& call) const;
  // Adds the values that a node returns.
  std::vector<CallList::Result> add_results(const nlohmann::json& outputs);

  // Begin and end of a graph that is an argument of a node. It sees no values except its inputs: the node's inputs from
  // `first` on. The graph's outputs become the node's outputs.
  void enter(const nlohmann::json& graph_inputs, const nlohmann::json& node_inputs, std::size_t first);
  void leave(const nlohmann::json& graph_outputs, const nlohmann::json& node_outputs);

 private:
  void set_argument(const c10::Argument& wanted, std::int32_t place, const nlohmann::json& given,
                    CallList::Call& call) const;
  // Returns false for a constant argument.
  bool set_late(const c10::Argument& wanted, std::int32_t place, const nlohmann::json& given,
                CallList::Call& call) const;
  CallList::Slot slot_of(const nlohmann::json& argument) const;
  CallList::Slot constant_slot(const nlohmann::json& argument);

  const c10::Device device_;
  std::vector<c10::IValue>& slots_;
  std::vector<std::map<std::string, CallList::Slot>> names_;  // of the open graphs
};

}  // namespace ddp::graph
