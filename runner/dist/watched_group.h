#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "dist/shm/backend.h"
#include "record/shared_progress.h"

namespace ddp::dist {

// Adds up the ranks' tensors as a balanced binary tree: each rank adds a part, and the parts are gathered, which moves
// as many bytes as an all-reduce over a ring. Returns completed work.
c10::intrusive_ptr<c10d::Work> sum_as_tree(c10d::ProcessGroup& group, std::vector<at::Tensor>& tensors);
c10::intrusive_ptr<c10d::Work> sum_as_tree(c10d::Backend& group, std::vector<at::Tensor>& tensors);

// A process group that records in the rank's progress entry which collective it begins. If a rank times out, the parent
// can tell which rank is absent.
class WatchedGroup : public c10d::ProcessGroup {
 public:
  // `sums_as_tree`: as in Membership.
  template <class... Arguments>
  explicit WatchedGroup(record::RankProgress& progress, bool sums_as_tree, Arguments&&... arguments)
      : ProcessGroup(std::forward<Arguments>(arguments)...), progress_(progress), sums_as_tree_(sums_as_tree) {}

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    note(record::CollectiveKind::all_reduce);
    progress_.sum_begins();
    if (sums_as_tree_ && getSize() > 2 && options.reduceOp == c10d::ReduceOp::SUM) {
      return sum_as_tree(*this, tensors);
    }
    return ProcessGroup::allreduce(tensors, options);
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    note(record::CollectiveKind::broadcast);
    return ProcessGroup::broadcast(tensors, options);
  }
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override {
    note(record::CollectiveKind::all_gather);
    return ProcessGroup::allgather(outputs, inputs, options);
  }
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions& options) override {
    note(record::CollectiveKind::all_gather);
    return ProcessGroup::_allgather_base(output, input, options);
  }
  c10::intrusive_ptr<c10d::Work> reduce(std::vector<at::Tensor>& tensors, const c10d::ReduceOptions& options) override {
    note(record::CollectiveKind::reduce);
    return ProcessGroup::reduce(tensors, options);
  }
  c10::intrusive_ptr<c10d::Work> gather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                                        const c10d::GatherOptions& options) override {
    note(record::CollectiveKind::gather);
    return ProcessGroup::gather(outputs, inputs, options);
  }
  c10::intrusive_ptr<c10d::Work> scatter(std::vector<at::Tensor>& outputs, std::vector<std::vector<at::Tensor>>& inputs,
                                         const c10d::ScatterOptions& options) override {
    note(record::CollectiveKind::scatter);
    return ProcessGroup::scatter(outputs, inputs, options);
  }
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override {
    note(record::CollectiveKind::barrier);
    return ProcessGroup::barrier(options);
  }

  // Starts an all-reduce of gradients outside a backward pass. The caller ends it with finish(), behind the start of
  // the last one.
  virtual c10::intrusive_ptr<c10d::Work> start(std::vector<at::Tensor>& tensors) { return allreduce(tensors, {}); }
  virtual void finish(c10d::Work& work) { work.wait(); }

 protected:
  void note(record::CollectiveKind collective) { progress_.begin(collective); }
  record::RankProgress& progress() { return progress_; }

 private:
  record::RankProgress& progress_;

 protected:
  const bool sums_as_tree_;
};

// A process group whose ranks stay awake for the gradients. When backward has started all of its all-reduces, the rank
// yields its core to Gloo's threads for a few milliseconds instead of sleeping. On one node an all-reduce often takes
// less time than the wake-up of an idle core (docs/performance.md has figures). The results have the same bits. Only
// for CPU ranks with one core each: if another rank needs the core, sleeping is better.
class AttentiveGroup : public WatchedGroup {
 public:
  using WatchedGroup::WatchedGroup;

  void finish(c10d::Work& work) override;

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
};

// A process group whose ranks share memory on each node and sum tensors there.
class ArenaGroup : public WatchedGroup {
 public:
  template <class... Arguments>
  explicit ArenaGroup(c10::intrusive_ptr<SharedMemory> machine, Arguments&&... arguments)
      : WatchedGroup(std::forward<Arguments>(arguments)...), machine_(std::move(machine)) {}

  // The memory in which tensors are summed without copies.
  const std::shared_ptr<SharedArena>& arena() const { return machine_->arena(); }
  void average_shares(const at::Tensor& tensor, const std::vector<Range>& own) {
    note(record::CollectiveKind::all_reduce);
    machine_->average_shares(tensor, own);
  }

 protected:
  const c10::intrusive_ptr<SharedMemory>& machine() const { return machine_; }

 private:
  const c10::intrusive_ptr<SharedMemory> machine_;
};

// Returns the arena of a group whose ranks of one node share memory, in which tensors are summed without copies; null:
// no arena.
std::shared_ptr<SharedArena> arena_of(const Group& group);
// Averages parts of a tensor over the ranks of a group that has an arena for all of them
// (SharedMemory::average_shares).
void average_shares(const Group& group, const at::Tensor& tensor, const std::vector<Range>& own);

// A process group with all ranks on one node.
class SharedGroup : public ArenaGroup {
 public:
  template <class... Arguments>
  explicit SharedGroup(c10::intrusive_ptr<SharedMemory> all, Arguments&&... arguments)
      : ArenaGroup(std::move(all), std::forward<Arguments>(arguments)...) {
    setDefaultBackend(CUSTOM);
    setBackend(c10::DeviceType::CPU, CUSTOM, machine());
    setGroupName("0");
  }

  // Calls the backend directly: through LibTorch's dispatcher, a small all-reduce would take twice as long.
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    note(record::CollectiveKind::all_reduce);
    return machine()->allreduce(tensors, options);
  }
};

// A group of ranks on several nodes, with shared memory on each node. An all-reduce has three steps: the ranks of a
// node reduce in shared memory; one rank of each node, the speaker, all-reduces over Gloo; the speakers broadcast the
// result in shared memory. A node thus sends as many bytes as one rank would, for any number of ranks on the node. All
// other collectives use Gloo among all ranks.
class HierarchicalGroup : public ArenaGroup {
 public:
  // `speakers`: the group of one rank of each node; null on the other ranks. `sums_may_wait`: as in Membership.
  template <class... Arguments>
  HierarchicalGroup(c10::intrusive_ptr<SharedMemory> machine, c10::intrusive_ptr<c10d::Backend> speakers,
                    bool sums_may_wait, Arguments&&... arguments)
      : ArenaGroup(std::move(machine), std::forward<Arguments>(arguments)...),
        speakers_(std::move(speakers)),
        sums_may_wait_(sums_may_wait) {}

  // During backward it returns after the first step, the sum of this node. The other steps finish at the end of
  // backward, in the order of the calls, or earlier if a caller waits. The network then overlaps with backward.
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
  // Returns after the first step too: a rank that replays takes the steps in the order of one in a backward pass.
  c10::intrusive_ptr<c10d::Work> start(std::vector<at::Tensor>& tensors) override;

 private:
  class Sum;
  struct Pending;
  c10::intrusive_ptr<Sum> begin(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& options);
  static std::shared_ptr<Pending> none_pending();

  const c10::intrusive_ptr<c10d::Backend> speakers_;
  const bool sums_may_wait_;
  const std::shared_ptr<Pending> pending_ = none_pending();
};

}  // namespace ddp::dist
