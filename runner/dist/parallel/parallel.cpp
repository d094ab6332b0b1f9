#include "dist/parallel/parallel.h"

#include <utility>

#include <torch/nn/module.h>

#include "config/strategy.h"
#include "model/weights.h"

namespace ddp::dist {

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

void Parallel::zero_grad() {
  for (auto& [name, tensor] : parameters_) tensor.mutable_grad().reset();
}

}  // namespace ddp::dist
