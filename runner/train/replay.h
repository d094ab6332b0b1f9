#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/heap.h"
#include "train/gradients.h"
#include "train/parts.h"
#include "train/replay/kind.h"

namespace ddp::train {

// Returns why no step of this experiment can be replayed; "": one may be.
std::string replay_obstacle(const config::Experiment& experiment, const Loss& loss, c10::Device device);

// Decides how each micro-batch of a run is computed: eagerly, eagerly while it is watched, or by a player.
// Micro-batches of one kind, with equal shapes at the same place of a step, share a player. DESIGN.md says why the bits
// are the same.
class Replay {
 public:
  // The arguments outlive this object. `watch`: looks at the gradients of a replayed step; null: nobody does.
  Replay(const TrainerParts& parts, GradientWatch* watch);

  // The place of a micro-batch in its step.
  struct Place {
    bool first = true;  // of its logical rank
    bool begins_step = true;
    bool syncs = true;  // the last one of the step, with which ranks add up their gradients
    std::int64_t micro_batches = 1;
  };

  // Begins a micro-batch. `batch`: its tensors. Returns true if a tape computes it: call forward() and backward().
  // Otherwise it runs eagerly: call forward_done() and backward_done().
  bool begin(const Place& place, std::vector<at::Tensor> batch);

  // Returns the tensors that the eager micro-batch gave to forward_done().
  const std::vector<at::Tensor>& forward();
  void backward();

  // Watches the calls, if this micro-batch is to be recorded or compared. Call around forward and around backward.
  class Window {
   public:
    explicit Window(Replay& replay);
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

   private:
    std::optional<Recorder> recorder_;
  };
  void forward_done(const std::vector<at::Tensor>& outputs);
  void backward_done();
  // The bytes of the largest recording; a refused one counts too.
  std::size_t recorded_bytes() const { return recorded_bytes_; }

 private:
  using Key = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;
  Key key_of(const Place& place, const std::vector<at::Tensor>& batch) const;
  bool has_room() const;
  bool choose(const Place& place, std::vector<at::Tensor>& batch);
  // No further step is replayed. Throws ddp::Error (training) with replay = "require".
  void refuse(const std::string& reason);

  const TrainerParts& p_;
  GradientWatch* const watch_;
  std::string reason_;  // why no step is replayed; empty: steps may be
  std::map<Key, Kind> kinds_;
  CommonMemory common_;
  Kind* kind_ = nullptr;  // of the current micro-batch; null: it only runs eagerly
  std::vector<at::Tensor> batch_;
  NamedTensors outputs_;
  std::int64_t begun_ = 0;
  std::size_t recorded_bytes_ = 0;
  std::optional<ReturnedMemory> returned_;  // until steps are replayed
};

}  // namespace ddp::train
