#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "train/replay/tape.h"

namespace ddp::train {

// Memory of intermediate results, for the players of one owner, of which one runs at a time.
using CommonMemory = std::vector<at::Tensor>;

// Runs the work of a tape for other batches. Calls with a kernel of ours write into memory that is kept; views of such
// memory are made once. The other calls are made as recorded.
class Player {
 public:
  // The tape still has its recorded tensors. The player takes from `common` what it needs, and adds to it.
  Player(Tape tape, CommonMemory& common);
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // The number of calls in a run, and how many of them have a kernel of ours.
  std::size_t calls() const { return steps_.size(); }
  std::size_t own_calls() const;
  // Trained parameters to which the run gives no gradient.
  const std::vector<std::size_t>& unused() const { return tape_.unused; }
  // The memory that this player added to what runs keep.
  std::size_t kept_bytes() const { return kept_bytes_; }

  // Computes the loss of a batch. Returns the outputs, which the next run overwrites.
  const std::vector<at::Tensor>& forward(const std::vector<at::Tensor>& batch);
  // The caller's part of backward.
  struct Duties {
    // Gets each gradient of this rank when it is complete.
    std::function<void(std::size_t parameter, const at::Tensor& gradient)> complete = {};
    // Starts the sum of a buffer over the ranks; returns a function that waits for it.
    std::function<std::function<void()>(const at::Tensor& buffer)> start_sum = {};
    // Behind the last of these, with all gradients of this rank in place: dist::Parallel::share_use(). May be empty.
    std::function<std::function<void()>()> share_use = {};
  };
  // Computes the gradients of the parameters, and averages them over the ranks.
  void backward(const Duties& duties);
  // Frees the results of the last run that are not kept; backward() does so too.
  void drop_results();
  // Fills the memory of results with NaN: what the next run reads before it writes it shows. `on`: also what calls of
  // the runs to come allocate, until it is switched off.
  void fill_with_nan(bool on);

 private:
  using Slot = Tape::Slot;
  // The memory of a slot: of its root, the slot that owns it, from this byte on.
  struct Place {
    Slot root = Tape::kNone;
    std::ptrdiff_t offset = 0;
  };
  struct Step {
    std::size_t call = 0;
    std::vector<const at::Tensor*> operands = {};  // of a kernel of ours
    std::vector<Slot> last_uses = {};              // results that no later call reads
  };

  void leave_out_kernels();
  void find_places();
  void join_calls();
  std::optional<std::size_t> next_to_join(std::size_t call) const;
  void join(std::size_t first, std::size_t next);
  bool is_in_bucket(const at::Tensor& tensor) const;
  void find_ends();
  void find_targets();
  void plan(CommonMemory& common);
  bool is_view(const Tape::Call& call) const;
  bool make_views(const Tape::Call& call);
  bool is_done(const Tape::Call& call) const;
  void keep(Slot slot, CommonMemory& common);
  void add_step(std::size_t call);
  void find_last_uses();
  bool is_kept(Slot slot) const { return kept_[index(slot)]; }
  void run(const Step& step);
  void run_watched(const Step& step);
  void put_arguments(const Tape::Call& call);
  void call(const Tape::Call& call);
  void run_until(std::size_t call);
  static std::size_t index(Slot slot) { return static_cast<std::size_t>(slot); }

  Tape tape_;
  std::vector<Place> places_;
  std::vector<std::size_t> ends_;  // of each root: the number of calls behind which nobody reads its memory
  std::vector<Slot> targets_;      // of each slot: the place in a bucket to which it is copied, and nothing else; kNone
  std::vector<bool> kept_;         // of each slot: its tensor outlives a run
  std::size_t kept_bytes_ = 0;     // that plan() allocates
  std::vector<at::Tensor> free_;   // kept memory that later results may take, while the plan is made
  std::vector<Step> steps_;
  std::size_t next_ = 0;     // the step that runs next
  bool is_watched_ = false;  // by a profiler, in this run
  bool fills_ = false;       // memory that a call allocates, with NaN
  std::vector<at::Tensor> outputs_;
  std::vector<c10::IValue> stack_;
};

// Returns the player of two recordings of the same work, of which the second one still has its tensors. Kernels of ours
// that were right only once are left out. Throws NotStatic if they differ.
std::unique_ptr<Player> player_of(const Tape& first, Tape second, CommonMemory& common);

}  // namespace ddp::train
