#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "base/error.h"
#include "dist/process_group.h"
#include "dist/shm/arena.h"
#include "dist/shm/channels.h"
#include "dist/shm/collectives.h"
#include "dist/shm/segment.h"

namespace ddp::dist {

// A tensor's values in contiguous order: its own memory if it is contiguous, else a copy.
class Flat {
 public:
  explicit Flat(const at::Tensor& tensor) : tensor_(tensor), flat_(tensor) {
    TORCH_CHECK(tensor.device().is_cpu() && tensor.layout() == at::kStrided,
                "shm carries dense tensors in CPU memory, not one on ", tensor.device(), " of layout ",
                tensor.layout());
    const at::NoGradGuard no_grad;
    if (!tensor.is_contiguous()) flat_ = tensor.contiguous();
  }
  std::byte* data() const { return static_cast<std::byte*>(flat_.mutable_data_ptr()); }
  const at::Tensor& tensor() const { return tensor_; }
  std::size_t bytes() const { return flat_.nbytes(); }
  std::size_t count() const { return static_cast<std::size_t>(flat_.numel()); }
  // Copies changed values back into the tensor.
  void store() const {
    const at::NoGradGuard no_grad;
    if (!flat_.is_same(tensor_)) tensor_.copy_(flat_);
  }

 private:
  at::Tensor tensor_;
  at::Tensor flat_;
};

// Work that is complete when it is returned.
class DoneWork : public c10d::Work {
 public:
  DoneWork(int rank, c10d::OpType type, std::vector<at::Tensor> outputs)
      : Work(rank, type), outputs_(std::move(outputs)) {}

  bool isCompleted() override { return true; }
  bool isSuccess() const override { return true; }
  bool wait(std::chrono::milliseconds) override { return true; }
  void synchronize() override {}
  void abort() override {}
  std::vector<at::Tensor> result() override { return outputs_; }
  // The Reducer reads its buckets from the future.
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  std::vector<at::Tensor> outputs_;
};

// The c10d backend "shm": collectives between the CPU ranks of one node, through memory that their parent mapped before
// it forked them. It implements the whole c10d::Backend, so any user of a process group can use it. Each call runs in
// the calling thread and returns completed work, so calls are in order. If a call fails because of other ranks, it
// throws, and so do all later calls. If a call has invalid arguments, only that call throws. Tensors may have any
// strides.
class SharedMemory : public c10d::Backend {
 public:
  // Waits until every rank has joined. Throws ddp::Error (training).
  explicit SharedMemory(const Membership& membership);

  // The memory in which tensors are summed without copies.
  const std::shared_ptr<SharedArena>& arena() const { return arena_; }

  const std::string getBackendName() const override { return "shm"; }
  void setTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return collectives_.calls(); }

  using WorkPtr = c10::intrusive_ptr<c10d::Work>;
  using Tensors = std::vector<at::Tensor>;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  // Averages the numbers of the ranges over the ranks, as an all-reduce of every rank's numbers times 1 / ranks, in
  // rank order. `tensor`: contiguous float32; the ranges of all ranks cover what they need of it, and do not overlap.
  // The other numbers may change. Other ranks have read this rank's numbers when it returns.
  void average_shares(const at::Tensor& tensor, const std::vector<Range>& own);
  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_sizes,
                        std::vector<std::int64_t>& input_sizes, const c10d::AllToAllOptions& options) override;
  // Returns work that progresses whenever its rank waits in any call, and is complete when its wait() returns.
  WorkPtr send(Tensors& tensors, int to, int tag) override;
  WorkPtr recv(Tensors& tensors, int from, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;

 private:
  class TransferWork;
  // Runs one call exclusively; `outputs`: the result of its work.
  template <class Body>
  WorkPtr run(c10d::OpType type, const char* name, std::chrono::milliseconds timeout, Tensors outputs,
              const Body& body);
  // Runs `body` exclusively. If `body` throws ddp::Error, every later call throws the same error.
  template <class Body>
  void exclusively(const Body& body);
  void all_reduce_one(const at::Tensor& tensor, const c10d::ReduceOp& op, const Call& call);
  void reduce_scatter_one(const at::Tensor& output, const Tensors& inputs, const c10d::ReduceOp& op, const Call& call);

  SharedSegment segment_;
  const std::shared_ptr<SharedArena> arena_;
  SharedCollectives collectives_;
  SharedChannels channels_;
  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::exception_ptr failure_;  // of the first failed call
};

template <class Body>
void SharedMemory::exclusively(const Body& body) {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  try {
    body();
  } catch (const Error&) {
    failure_ = std::current_exception();
    throw;
  }
}

template <class Body>
SharedMemory::WorkPtr SharedMemory::run(c10d::OpType type, const char* name, std::chrono::milliseconds timeout,
                                        Tensors outputs, const Body& body) {
  exclusively([&] { body(Call{.name = name, .timeout = timeout.count() > 0 ? timeout : timeout_}); });
  return c10::make_intrusive<DoneWork>(rank_, type, std::move(outputs));
}

}  // namespace ddp::dist
