#include "dist/watched_group.h"

#include <sched.h>
#include <chrono>
#include <deque>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>

#include "model/recording.h"

namespace ddp::dist {
namespace {

// Long enough for buckets of a few MiB. If another rank is further behind, sleeping is better.
constexpr std::chrono::milliseconds kLongestOffer{5};

void offer_core_until_done(c10d::Work& work) {
  const auto deadline = std::chrono::steady_clock::now() + kLongestOffer;
  while (!work.isCompleted() && std::chrono::steady_clock::now() < deadline) sched_yield();
}

template <class AnyGroup>
c10::intrusive_ptr<c10d::Work> sum_in_parts(AnyGroup& group, std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  const model::Unrecorded unrecorded;
  const at::Tensor& all = tensors.front();
  const std::int64_t ranks = group.getSize(), part = (all.numel() + ranks - 1) / ranks;
  at::Tensor sent = at::zeros({part * ranks}, all.options());
  sent.narrow(0, 0, all.numel()).copy_(all.flatten());
  at::Tensor received = at::empty_like(sent);
  std::vector<std::int64_t> equal;
  group.alltoall_base(received, sent, equal, equal, {})->wait();
  for (std::int64_t apart = 1; apart < ranks; apart *= 2) {
    for (std::int64_t r = 0; r < ranks; r += 2 * apart) {
      received.narrow(0, r * part, part).add_(received.narrow(0, (r + apart) * part, part));
    }
  }
  at::Tensor sum = received.narrow(0, 0, part);
  group._allgather_base(sent, sum, {})->wait();
  all.copy_(sent.narrow(0, 0, all.numel()).view_as(all));
  return c10::make_intrusive<DoneWork>(group.getRank(), c10d::OpType::ALLREDUCE, tensors);
}

}  // namespace

c10::intrusive_ptr<c10d::Work> sum_as_tree(c10d::ProcessGroup& group, std::vector<at::Tensor>& tensors) {
  return sum_in_parts(group, tensors);
}

c10::intrusive_ptr<c10d::Work> sum_as_tree(c10d::Backend& group, std::vector<at::Tensor>& tensors) {
  return sum_in_parts(group, tensors);
}

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

void AttentiveGroup::finish(c10d::Work& work) {
  offer_core_until_done(work);
  work.wait();
}

// Sums that are not complete, in the order of the calls, which is the same on all ranks. They are finished in this
// order.
struct HierarchicalGroup::Pending {
  std::deque<c10::intrusive_ptr<Sum>> sums;
};

// A sum of this node's ranks, while it is reduced between the nodes and broadcast.
class HierarchicalGroup::Sum : public c10d::Work {
 public:
  Sum(const HierarchicalGroup& group, std::vector<at::Tensor> tensors, const c10d::AllreduceOptions& options)
      : Work(group.getRank(), c10d::OpType::ALLREDUCE),
        machine_(group.machine()),
        pending_(group.pending_),
        tensors_(std::move(tensors)),
        timeout_(options.timeout) {
    if (!group.speakers_) return;
    const bool as_tree = group.sums_as_tree_ && group.speakers_->getSize() > 2;
    between_ = as_tree ? sum_as_tree(*group.speakers_, tensors_) : group.speakers_->allreduce(tensors_, options);
  }

  bool wait(std::chrono::milliseconds timeout) override {
    while (!isCompleted()) {
      const auto first = pending_->sums.front();
      pending_->sums.pop_front();
      first->finish(timeout);
    }
    if (future_->hasError()) std::rethrow_exception(future_->exception_ptr());
    return true;
  }

  bool isCompleted() override { return future_->completed(); }
  bool isSuccess() const override { return future_->completed() && !future_->hasError(); }
  std::vector<at::Tensor> result() override { return tensors_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  void finish(std::chrono::milliseconds timeout) {
    try {
      if (between_) between_->wait(timeout);
      machine_->broadcast(tensors_, {.rootRank = 0, .timeout = timeout_});
      future_->markCompleted(c10::IValue(tensors_));
    } catch (const std::exception&) {
      future_->setError(std::current_exception());
    }
  }

  const c10::intrusive_ptr<SharedMemory> machine_;
  const std::shared_ptr<Pending> pending_;
  std::vector<at::Tensor> tensors_;
  const std::chrono::milliseconds timeout_;
  const c10::intrusive_ptr<c10::ivalue::Future> future_ =
      c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  c10::intrusive_ptr<c10d::Work> between_;  // null if another rank is the speaker
};

std::shared_ptr<HierarchicalGroup::Pending> HierarchicalGroup::none_pending() { return std::make_shared<Pending>(); }

c10::intrusive_ptr<c10d::Work> HierarchicalGroup::allreduce(std::vector<at::Tensor>& tensors,
                                                            const c10d::AllreduceOptions& options) {
  if (options.reduceOp != c10d::ReduceOp::SUM || tensors.size() != 1 || tensors.front().is_sparse()) {
    return ArenaGroup::allreduce(tensors, options);
  }
  const auto sum = begin(tensors, options);
  if (sums_may_wait_ && torch::autograd::get_current_graph_task_id() != -1) {
    torch::autograd::Engine::get_default_engine().queue_callback([sum] { sum->wait(kNoTimeout); });
  } else {
    sum->wait(kNoTimeout);
  }
  return sum;
}

c10::intrusive_ptr<HierarchicalGroup::Sum> HierarchicalGroup::begin(std::vector<at::Tensor>& tensors,
                                                                    const c10d::AllreduceOptions& options) {
  note(record::CollectiveKind::all_reduce);
  progress().sum_begins();
  machine()->reduce(tensors, {.reduceOp = c10d::ReduceOp::SUM, .rootRank = 0, .timeout = options.timeout});
  auto sum = c10::make_intrusive<Sum>(*this, tensors, options);
  pending_->sums.push_back(sum);
  return sum;
}

c10::intrusive_ptr<c10d::Work> HierarchicalGroup::start(std::vector<at::Tensor>& tensors) { return begin(tensors, {}); }

std::shared_ptr<SharedArena> arena_of(const Group& group) {
  const auto* shared = dynamic_cast<const ArenaGroup*>(group.get());
  return shared == nullptr ? nullptr : shared->arena();
}

void average_shares(const Group& group, const at::Tensor& tensor, const std::vector<Range>& own) {
  dynamic_cast<ArenaGroup&>(*group).average_shares(tensor, own);
}

}  // namespace ddp::dist
