#include "dist/turns.h"

#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/stack.h>
#include <c10/util/Exception.h>

namespace ddp::dist {
namespace {

thread_local Turns* turns_here = nullptr;
thread_local int place_here = 0;

// Ends the work of a thread after another one has failed. Autograd passes on what derives from std::exception.
struct OtherFailed : std::exception {};

constexpr const char* kUnequal = "the logical ranks of this rank have different numbers of batch norms in a step";

}  // namespace

Turns::Turns(int count, std::function<void(int)> taken) : count_(count), taken_(std::move(taken)) {
  for (int i = 0; i < count; ++i) {
    threads_.emplace_back([this, i](const std::stop_token& stop) { serve(i, stop); });
  }
}

Turns* Turns::of_this_thread() { return turns_here; }

void Turns::run(const std::function<void(int)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  modes_.emplace();
  left_.clear();
  meetings_ = 0;
  ended_ = 0;
  turn_ = 0;
  changed_.notify_all();
  changed_.wait(lock, [this] { return turn_ == kNobody && running_ == 0; });
  combined_.reset();
  if (failure_) std::rethrow_exception(failure_);
}

void Turns::serve(int me, const std::stop_token& stop) {
  turns_here = this;
  place_here = me;
  at::init_num_threads();  // oneDNN's kernels do not ask for it
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return turn_ == me; })) {
    ++running_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      work_in_turn(me);
    } catch (const OtherFailed&) {  // that one has left its exception
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --running_;
    ++ended_;
    if (failure && !failure_) failure_ = failure;
    turn_ = failure_ || ended_ == count_ ? kNobody : (me + 1) % count_;
    changed_.notify_all();
  }
}

void Turns::work_in_turn(int me) {
  const at::ThreadLocalStateGuard modes(*modes_);
  taken_(me);
  (*work_)(me);
}

at::Tensor Turns::meet(const at::Tensor& mine, const std::function<at::Tensor(const at::Tensor& of_all)>& combine) {
  const int me = place_here;
  const std::size_t meeting = meetings_;
  TORCH_CHECK(left_.size() == static_cast<std::size_t>(me), kUnequal);
  left_.push_back(mine);
  if (me == count_ - 1) {
    combined_ = combine(at::stack(std::exchange(left_, {})));
    ++meetings_;
  }
  give_turn(me);
  TORCH_CHECK(meetings_ > meeting, kUnequal);
  return combined_;
}

void Turns::give_turn(int me) {
  std::unique_lock lock(mutex_);
  turn_ = (me + 1) % count_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return turn_ == me || failure_; });
  if (failure_) throw OtherFailed();
  lock.unlock();
  taken_(me);
}

}  // namespace ddp::dist
