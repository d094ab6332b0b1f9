#pragma once

#include <c10/util/intrusive_ptr.h>

#include "dist/watched_group.h"

namespace ddp::dist {

// A process group whose ranks stay awake for the gradients: when backward has started all of its sums, the rank
// offers its core to Gloo's threads for a few milliseconds instead of sleeping. On one machine a sum often takes less
// time than an idle core takes to wake up (docs/performance.md has figures). Sums, and so all bits, are as they are.
// For CPU ranks with a core each: where another rank waits for the core, sleeping is right.
class AttentiveGroup : public WatchedGroup {
 public:
  using WatchedGroup::WatchedGroup;

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
};

}  // namespace ddp::dist
