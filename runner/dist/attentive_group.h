#pragma once

#include <c10/util/intrusive_ptr.h>

#include "dist/watched_group.h"

namespace ddp::dist {

// A process group whose ranks stay awake for the gradients. When backward has started all of its all-reduces, the rank
// yields its core to Gloo's threads for a few milliseconds instead of sleeping. On one node an all-reduce often takes
// less time than the wake-up of an idle core (docs/performance.md has figures). The results have the same bits. Only
// for CPU ranks with one core each: if another rank needs the core, sleeping is better.
class AttentiveGroup : public WatchedGroup {
 public:
  using WatchedGroup::WatchedGroup;

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
};

}  // namespace ddp::dist
