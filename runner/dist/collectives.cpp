#include "dist/collectives.h"

#include <ATen/ops/empty_like.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>

namespace ddp::dist {
namespace {

// Python's DDP broadcasts in messages of 250 MiB (torch/nn/parallel/distributed.py).
constexpr std::size_t kBroadcastBytes = 250u << 20;

// NCCL moves GPU memory only.
at::Tensor on_device_of(const Group& group, const at::Tensor& tensor) {
  const auto bound = group->getBoundDeviceId();
  return bound ? tensor.to(*bound) : tensor;
}

}  // namespace

void barrier(const Group& group) {
  if (group) group->barrier()->wait();
}

std::vector<at::Tensor> all_gather(const Group& group, const at::Tensor& mine) {
  return start_all_gather(group, mine)();
}

PendingGather start_all_gather(const Group& group, const at::Tensor& mine) {
  if (!group) return [mine] { return std::vector<at::Tensor>{mine}; };
  const at::Tensor sent = on_device_of(group, mine);
  std::vector<std::vector<at::Tensor>> received(1);
  for (int r = 0; r < group->getSize(); ++r) received[0].push_back(at::empty_like(sent));
  std::vector<at::Tensor> inputs{sent};
  const auto work = group->allgather(received, inputs);
  return [work, inputs, tensors = std::move(received[0]), device = mine.device()]() mutable {
    work->wait();
    for (auto& tensor : tensors) tensor = tensor.to(device);
    return std::move(tensors);
  };
}

void broadcast_from_rank_0(const Group& group, std::vector<at::Tensor> tensors) {
  if (!group || tensors.empty()) return;
  c10d::broadcast_coalesced(c10::intrusive_ptr<c10d::ProcessGroup>::reclaim_copy(group.get()), tensors, kBroadcastBytes,
                            0);
}

}  // namespace ddp::dist
