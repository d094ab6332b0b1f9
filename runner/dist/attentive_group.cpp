#include "dist/attentive_group.h"

#include <sched.h>
#include <chrono>

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>

namespace ddp::dist {
namespace {

// Long enough for buckets of a few MiB. If another rank is further behind, sleeping is better.
constexpr std::chrono::milliseconds kLongestOffer{5};

void offer_core_until_done(c10d::Work& work) {
  const auto deadline = std::chrono::steady_clock::now() + kLongestOffer;
  while (!work.isCompleted() && std::chrono::steady_clock::now() < deadline) sched_yield();
}

}  // namespace

c10::intrusive_ptr<c10d::Work> AttentiveGroup::allreduce(std::vector<at::Tensor>& tensors,
                                                         const c10d::AllreduceOptions& options) {
  auto work = WatchedGroup::allreduce(tensors, options);
  // Callbacks run at the end of backward, in the order they were queued: this one before the reducer's callback, which
  // sleeps until all all-reduces are done.
  if (torch::autograd::get_current_graph_task_id() != -1) {
    torch::autograd::Engine::get_default_engine().queue_callback([work] { offer_core_until_done(*work); });
  }
  return work;
}

}  // namespace ddp::dist
