#pragma once

#include <mutex>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "dist/shared_collectives.h"
#include "dist/shared_page.h"

namespace ddp::dist {

// c10d's backend "shm": collectives between the CPU ranks of one machine through memory that their parent mapped
// before it forked them. Each call runs in the thread that makes it and returns work that is done, so that calls are
// in order; one that fails throws, and so do all after it. Tensors may be of any strides.
class SharedMemory : public c10d::Backend {
 public:
  // Waits until every rank is there. Throws ddp::Error (training).
  SharedMemory(void* memory, std::size_t bytes, int rank, int world_size, std::chrono::milliseconds timeout);

  const std::string getBackendName() const override { return "shm"; }
  void setTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return collectives_.calls(); }

  using WorkPtr = c10::intrusive_ptr<c10d::Work>;
  using Tensors = std::vector<at::Tensor>;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
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
  WorkPtr barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;

 private:
  // Runs one call, alone; `outputs` are what its work hands on.
  template <class Body>
  WorkPtr run(c10d::OpType type, const char* name, std::chrono::milliseconds timeout, Tensors outputs,
              const Body& body);
  void all_reduce_one(const at::Tensor& tensor, const c10d::ReduceOp& op, const Call& call);
  void reduce_scatter_one(const at::Tensor& output, const Tensors& inputs, const c10d::ReduceOp& op, const Call& call);

  SharedPage page_;
  SharedCollectives collectives_;
  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::exception_ptr failure_;  // the first one
};

}  // namespace ddp::dist
