#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/gradients.h"
#include "train/parts.h"
#include "train/replay/comparison.h"
#include "train/replay/player.h"

namespace ddp::train {

// Returns why no step of this experiment can be replayed; "": one may be.
std::string replay_obstacle(const config::Experiment& experiment, const Loss& loss, c10::Device device);

// Decides how each micro-batch of a run is computed: eagerly, eagerly while it is recorded, or by a tape. Micro-batches
// of one kind, with equal shapes at the same place of a step, share a tape. A kind that was recorded twice alike, and
// whose first replay had the bits of the eager micro-batch, is replayed from then on. DESIGN.md says why the bits are
// the same.
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

  // Returns the tensors that the recording gave to forward_done().
  const std::vector<at::Tensor>& forward();
  void backward();

  // Records from now on, if this micro-batch is to be recorded. Call around forward and around backward.
  class Window {
   public:
    explicit Window(Replay& replay);
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

   private:
    std::optional<Recorder> recorder_;
  };
  void forward_done(std::vector<at::Tensor> outputs);
  void backward_done();

 private:
  void end_comparison();
  void done();
  // The buffers of gradients that the ranks add up in this micro-batch.
  std::vector<at::Tensor> gradients_to_sum();
  using Key = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;
  struct Kind {
    std::optional<Tape> first;
    std::unique_ptr<Player> player;  // once the micro-batch was recorded twice alike
    bool is_trusted = false;         // the first replay had the bits of the eager micro-batch
  };
  static Key key_of(const Place& place, const std::vector<at::Tensor>& batch);
  bool choose(const Place& place, std::vector<at::Tensor>& batch);
  // No further step is replayed. Throws ddp::Error (training) with replay = "require".
  void refuse(const std::string& reason);

  const TrainerParts& p_;
  GradientWatch* const watch_;
  std::string reason_;  // why no step is replayed; empty: steps may be
  std::map<Key, Kind> kinds_;
  CommonMemory common_;
  Kind* kind_ = nullptr;  // of the current micro-batch; null: it runs eagerly
  std::vector<at::Tensor> batch_;
  std::vector<at::Tensor> gradients_before_;
  std::vector<at::Tensor> outputs_;
  std::size_t calls_of_forward_ = 0;
  std::unique_ptr<Recording> recording_;
  std::optional<Comparison> comparison_;  // of this micro-batch, which runs eagerly
  bool sums_ = false;                     // ranks add up their gradients in this micro-batch
  std::int64_t begun_ = 0;
};

}  // namespace ddp::train
