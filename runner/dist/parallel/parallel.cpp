#include "dist/parallel/parallel.h"

#include <stdexcept>

#include <utility>

#include <torch/nn/module.h>

#include "config/components.h"
#include "model/weights.h"

namespace ddp::dist {
namespace {

constexpr std::size_t kNamed = 20;

}  // namespace

ParallelRegistry& parallels() {
  static ParallelRegistry instance("parallel");
  return instance;
}

bool joins_group(const std::string& strategy) { return !config::strategy_of(parallels().traits(strategy)).one_process; }

bool copies_model(const std::string& strategy) { return config::strategy_of(parallels().traits(strategy)).all_devices; }

Parallel::Parallel(torch::nn::AnyModule module)
    : module_(std::move(module)),
      all_names_(named(module_.ptr()->named_parameters())),
      parameters_(each_once(all_names_)),
      buffers_(named(module_.ptr()->named_buffers())) {}

void Parallel::load(const NamedTensors& weights, const std::string& where) {
  model::load_weights(weights, *module_.ptr(), where);
}

void Parallel::add_gradients(const std::vector<at::Tensor>&) {
  throw std::logic_error("this strategy has no logical ranks");
}

void Parallel::keep_gradients() { throw std::logic_error("this strategy has no logical ranks"); }

bool Parallel::share_parameters(bool) { return false; }

std::function<void()> Parallel::start_sum(const at::Tensor&) {
  throw std::logic_error("this strategy has no buffers of gradients");
}

void Parallel::zero_grad() {
  for (auto& [name, tensor] : parameters_) tensor.mutable_grad().reset();
}

Error unused_parameters(Fault fault, const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < kNamed; ++i) list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamed) list += " and " + std::to_string(names.size() - kNamed) + " more";
  return {fault, "the loss does not depend on these parameters, so they have no gradient: " + list, "model",
          "leave them out of the model, name them in freeze, or, if other batches use them, give --set "
          "distributed.find_unused_parameters=true"};
}

}  // namespace ddp::dist
