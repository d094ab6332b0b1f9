#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "dist/shm/group.h"

namespace ddp::dist {

// Ranks on several machines that share memory with those of their own: sums are made in three steps. The ranks of a
// machine add up in their memory, one of them speaks for the machine over Gloo, and the sum of all goes to the others
// through memory again: a machine sends as many bytes as one rank would, whatever the number of its ranks. Everything
// but sums goes over Gloo among all.
class HierarchicalGroup : public ArenaGroup {
 public:
  // `speakers`: the group of one rank a machine; null on the others. `sums_may_wait`: as in Membership.
  template <class... Arguments>
  HierarchicalGroup(c10::intrusive_ptr<SharedMemory> machine, c10::intrusive_ptr<c10d::Backend> speakers,
                    bool sums_may_wait, Arguments&&... arguments)
      : ArenaGroup(std::move(machine), std::forward<Arguments>(arguments)...),
        speakers_(std::move(speakers)),
        sums_may_wait_(sums_may_wait) {}

  // Inside of backward it returns when this machine's sum is made. The rest is done when backward is through, in the
  // order of the calls, so that the network works beside backward; or earlier, when somebody waits.
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
