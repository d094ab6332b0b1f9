#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "dist/shm/group.h"

namespace ddp::dist {

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

 private:
  class Sum;
  struct Pending;
  static std::shared_ptr<Pending> none_pending();

  const c10::intrusive_ptr<c10d::Backend> speakers_;
  const bool sums_may_wait_;
  const std::shared_ptr<Pending> pending_ = none_pending();
};

}  // namespace ddp::dist
