#include "train/ema.h"

#include "base/error.h"
#include "train/states/saved_state.h"

namespace ddp::train {
namespace {

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

const bool ema_state_registered = saved_states().add<NoStateOptions>(
    checkpoint::kEma, "exponential average of the weights, with the buffers",
    [](const NoStateOptions&, const StateParts& parts) -> std::unique_ptr<SavedState> {
      return std::make_unique<EmaState>(parts);
    });

}  // namespace
}  // namespace ddp::train
