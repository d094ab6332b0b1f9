#include "rank/gradient_paths.h"

#include <unordered_set>

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

namespace ddp::rank {
namespace {

// Returns all nodes of the loss's graph, as c10d's Reducer searches it for find_unused_parameters.
std::unordered_set<const torch::autograd::Node*> nodes_of(const at::Tensor& loss) {
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<const torch::autograd::Node*> ahead{loss.grad_fn().get()};
  while (!ahead.empty()) {
    const torch::autograd::Node* node = ahead.back();
    ahead.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    for (const auto& edge : node->next_edges()) ahead.push_back(edge.function.get());
  }
  return seen;
}

}  // namespace

std::vector<std::string> without_gradient(const at::Tensor& loss, const NamedTensors& parameters) {
  const auto nodes = nodes_of(loss);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters) {
    if (!nodes.contains(torch::autograd::impl::grad_accumulator(parameter).get())) names.push_back(name);
  }
  return names;
}

}  // namespace ddp::rank
