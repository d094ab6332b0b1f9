#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "record/shared_progress.h"

namespace ddp::dist {

// A process group that records in the rank's progress entry which collective it begins. If a rank times out, the parent
// can tell which rank is absent.
class WatchedGroup : public c10d::ProcessGroup {
 public:
  template <class... Arguments>
  explicit WatchedGroup(record::RankProgress& progress, Arguments&&... arguments)
      : ProcessGroup(std::forward<Arguments>(arguments)...), progress_(progress) {}

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    note(record::CollectiveKind::all_reduce);
    return ProcessGroup::allreduce(tensors, options);
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    note(record::CollectiveKind::broadcast);
    return ProcessGroup::broadcast(tensors, options);
  }
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override {
    note(record::CollectiveKind::all_gather);
    return ProcessGroup::allgather(outputs, inputs, options);
  }
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions& options) override {
    note(record::CollectiveKind::all_gather);
    return ProcessGroup::_allgather_base(output, input, options);
  }
  c10::intrusive_ptr<c10d::Work> reduce(std::vector<at::Tensor>& tensors, const c10d::ReduceOptions& options) override {
    note(record::CollectiveKind::reduce);
    return ProcessGroup::reduce(tensors, options);
  }
  c10::intrusive_ptr<c10d::Work> gather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                                        const c10d::GatherOptions& options) override {
    note(record::CollectiveKind::gather);
    return ProcessGroup::gather(outputs, inputs, options);
  }
  c10::intrusive_ptr<c10d::Work> scatter(std::vector<at::Tensor>& outputs, std::vector<std::vector<at::Tensor>>& inputs,
                                         const c10d::ScatterOptions& options) override {
    note(record::CollectiveKind::scatter);
    return ProcessGroup::scatter(outputs, inputs, options);
  }
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override {
    note(record::CollectiveKind::barrier);
    return ProcessGroup::barrier(options);
  }

 protected:
  void note(record::CollectiveKind collective) { progress_.begin(collective); }

 private:
  record::RankProgress& progress_;
};

}  // namespace ddp::dist
