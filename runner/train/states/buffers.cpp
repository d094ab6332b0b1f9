#include <utility>

#include "train/ema.h"
#include "train/states/saved_state.h"

namespace ddp::train {
namespace {

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

const bool own_buffers_registered = saved_states().add<NoStateOptions>(
    "buffers", "buffers of each rank, if ranks have their own",
    [](const NoStateOptions&, const StateParts& parts) -> std::unique_ptr<SavedState> {
      return std::make_unique<OwnBuffers>(parts);
    });

}  // namespace
}  // namespace ddp::train
