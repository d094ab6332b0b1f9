#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "model/named_tensors.h"
#include "train/replay/comparison.h"
#include "train/replay/player.h"

namespace ddp::train {

// Batches of one kind, such as those of one shape, on their way to a player. The first eager pass is recorded. Beside
// the second one, which is recorded too, the player of the first runs: if the recordings are alike and all bits are
// equal, the player is trusted. If a kernel of ours was right only in the first, the same follows without it.
class Kind {
 public:
  bool is_trusted() const { return is_trusted_; }
  // The player of a trusted kind.
  Player& player() { return *player_; }
  std::size_t kept_bytes() const { return player_ ? player_->kept_bytes() : 0; }
  // Of the pass that has begun: the bytes that its recording has kept.
  std::size_t recorded_bytes() const { return recording_ ? recording_->bytes : 0; }

  // Begins an eager pass. `buffers`: of the model; they outlive the pass, as the parameters do. `most_bytes`: that its
  // recording may take.
  void begin(Surroundings around, const NamedTensors& buffers, std::size_t most_bytes = Recording::kMostOfForward);
  // Watches the calls of this thread as long as `recorder` lives.
  void watch(std::optional<Recorder>& recorder);
  // Call between forward and backward, if there is one.
  void forward_done() { calls_of_forward_ = recording_ ? recording_->calls.size() : 0; }
  // Ends the pass. `outputs`: the tensors that the caller reads after forward. Throws NotStatic if the work cannot be
  // replayed.
  void end(const NamedTensors& outputs, CommonMemory& common);

 private:
  Surroundings around_;
  std::unique_ptr<Recording> recording_;  // of this pass
  std::optional<Comparison> comparison_;  // of this pass with a replay
  std::optional<std::size_t> calls_of_forward_;
  std::optional<Tape> first_;  // the recording of the player, without its tensors; nothing: it is trusted
  std::unique_ptr<Player> player_;
  bool is_trusted_ = false;
};

}  // namespace ddp::train
