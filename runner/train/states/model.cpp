#include "train/states/saved_state.h"

namespace ddp::train {
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

const bool model_state_registered = saved_states().add<NoStateOptions>(
    checkpoint::kModel, "parameters and buffers",
    [](const NoStateOptions&, const StateParts& parts) -> std::unique_ptr<SavedState> {
      return std::make_unique<ModelState>(parts);
    });

}  // namespace
}  // namespace ddp::train
