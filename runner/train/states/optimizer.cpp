#include "train/states/saved_state.h"

namespace ddp::train {
namespace {

class OptimizerState : public SavedState {
 public:
  explicit OptimizerState(const StateParts& parts) : optimizer_(parts.optimizer) {}

  checkpoint::StateTensors tensors() const override { return {.steady = optimizer_.state(), .changing = {}}; }
  void restore(const NamedTensors& tensors, const checkpoint::State&) override { optimizer_.load(tensors); }

 private:
  GroupedOptimizer& optimizer_;
};

const bool optimizer_state_registered = saved_states().add<NoStateOptions>(
    checkpoint::kOptimizer, "optimizer state of each parameter",
    [](const NoStateOptions&, const StateParts& parts) -> std::unique_ptr<SavedState> {
      return std::make_unique<OptimizerState>(parts);
    });

}  // namespace
}  // namespace ddp::train
