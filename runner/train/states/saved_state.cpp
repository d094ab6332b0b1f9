#include "train/states/saved_state.h"

#include <utility>

#include "base/error.h"
#include "train/optim/ema.h"

namespace ddp::train {

SavedStateRegistry& saved_states() {
  static SavedStateRegistry instance("state");
  return instance;
}

namespace {

// Python's state_dict().
class ModelState : public SavedState {
 public:
  explicit ModelState(const StateParts& parts) : model_(parts.model) {}

  checkpoint::StateTensors tensors() const override {
    return {.steady = model_.parameters_by_all_names(), .changing = model_.buffers()};
  }
  // build_parallel() has already loaded the weights, because rank 0 broadcasts them when the strategy starts.
  void restore(const NamedTensors&, const checkpoint::State&) override {}

 private:
  dist::Parallel& model_;
};

const bool model_state_registered =
    saved_states().add<config::NoOptions>(checkpoint::kModel, "parameters and buffers", config::made<ModelState>);

class OptimizerState : public SavedState {
 public:
  explicit OptimizerState(const StateParts& parts) : optimizer_(parts.optimizer) {}

  void collect() override { optimizer_.collect(); }
  checkpoint::StateTensors tensors() const override { return {.steady = optimizer_.state(), .changing = {}}; }
  void restore(const NamedTensors& tensors, const checkpoint::State&) override { optimizer_.load(tensors); }

 private:
  GroupedOptimizer& optimizer_;
};

const bool optimizer_state_registered = saved_states().add<config::NoOptions>(
    checkpoint::kOptimizer, "optimizer state of each parameter", config::made<OptimizerState>);

std::string own_prefix(int rank) { return "rank." + std::to_string(rank) + "."; }

// The buffers of each rank, if broadcast_buffers is off and ranks have their own buffers: "rank.1.running_mean". The
// buffers of the averaged weights are "rank.1.ema.running_mean".
class OwnBuffers : public SavedState {
 public:
  explicit OwnBuffers(const StateParts& parts) : p_(parts) {}

  bool exists() const override {
    return !p_.experiment.distributed.broadcast_buffers && p_.group && !p_.model.buffers().empty();
  }

  void collect() override {
    collected_.clear();
    for (const auto& [name, buffer] : all_own()) {
      const auto of_ranks = dist::all_gather(p_.group, buffer);
      for (std::size_t r = 0; r < of_ranks.size(); ++r) {
        collected_.emplace_back(own_prefix(static_cast<int>(r)) + name, of_ranks[r]);
      }
    }
  }

  checkpoint::StateTensors tensors() const override { return {.steady = {}, .changing = collected_}; }

  // If a run resumes with more ranks, the additional ranks get the buffers of the first ones.
  void restore(const NamedTensors& tensors, const checkpoint::State& saved) override {
    const std::string prefix = own_prefix(p_.rank % saved.world_size);
    for (const auto& [name, own] : all_own()) {
      for (const auto& [key, tensor] : tensors) {
        if (key == prefix + name) own.copy_(tensor);
      }
    }
  }

 private:
  NamedTensors all_own() const {
    NamedTensors all = p_.model.buffers();
    if (p_.ema == nullptr) return all;
    for (const auto& [name, buffer] : p_.ema->own_buffers()) all.emplace_back("ema." + name, buffer);
    return all;
  }

  const StateParts p_;
  NamedTensors collected_;
};

const bool own_buffers_registered = saved_states().add<config::NoOptions>(
    "buffers", "buffers of each rank, if ranks have their own", config::made<OwnBuffers>);

// The averaged weights and the buffers, which evaluation uses, under the names of Python's state_dict().
class EmaState : public SavedState {
 public:
  explicit EmaState(const StateParts& parts) : p_(parts) {}

  bool exists() const override { return p_.ema != nullptr; }
  void collect() override { p_.ema->gather(); }

  // Averages change only after the optimizer's next step; buffers change in the next forward.
  checkpoint::StateTensors tensors() const override {
    const NamedTensors weights = p_.ema->weights();
    const auto buffers = weights.begin() + static_cast<std::ptrdiff_t>(p_.model.parameters_by_all_names().size());
    return {.steady = {weights.begin(), buffers}, .changing = {buffers, weights.end()}};
  }

  void restore(const NamedTensors& tensors, const checkpoint::State& saved) override {
    const std::string where = "ema.safetensors of step " + std::to_string(saved.step);
    if (!tensors.empty()) return p_.ema->load(tensors, where);
    // A checkpoint saved without [ema] has no average: it starts with the next update.
    if (saved.rules.contains(checkpoint::kEma)) throw training_error("is missing", where);
  }

 private:
  const StateParts p_;
};

const bool ema_state_registered = saved_states().add<config::NoOptions>(
    checkpoint::kEma, "exponential average of the weights, with the buffers", config::made<EmaState>);

}  // namespace

}  // namespace ddp::train
