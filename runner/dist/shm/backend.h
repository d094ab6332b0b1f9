#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "dist/membership.h"
#include "dist/shm/arena.h"
#include "dist/shm/collectives.h"
#include "dist/shm/segment.h"

namespace ddp::dist {

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
// it forked them. It has the collectives that runs and c10d::Reducer call; c10d::Backend refuses all others by their
// names. Each call runs in the calling thread and returns completed work, so calls are in order. If a call fails
// because of other ranks, it throws, and so do all later calls. If a call has invalid arguments, only that call throws.
// Tensors may have any strides.
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
  // Averages the numbers of the ranges over the ranks, as an all-reduce of every rank's numbers times 1 / ranks, in
  // rank order. `tensor`: contiguous float32; the ranges of all ranks cover what they need of it, and do not overlap.
  // The other numbers may change. Other ranks have read this rank's numbers when it returns.
  void average_shares(const at::Tensor& tensor, const std::vector<Range>& own);
  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;

 private:
  // Runs one call exclusively; `outputs`: the result of its work. If `body` throws ddp::Error, every later call throws
  // the same error.
  template <class Body>
  WorkPtr run(c10d::OpType type, const char* name, std::chrono::milliseconds timeout, Tensors outputs,
              const Body& body);

  SharedSegment segment_;
  const std::shared_ptr<SharedArena> arena_;
  SharedCollectives collectives_;
  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::exception_ptr failure_;  // of the first failed call
};

}  // namespace ddp::dist
