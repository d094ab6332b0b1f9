#include "dist/collectives.h"

#include <algorithm>
#include <cstring>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>

namespace ddp::dist {
namespace {

// Python's DDP broadcasts in messages of 250 MiB (torch/nn/parallel/distributed.py).
constexpr std::size_t kBroadcastBytes = 250u << 20;

bool is_nccl(const Group& group) { return group->getBackendType() == c10d::ProcessGroup::NCCL; }

// NCCL moves only GPU memory. The rank's first GPU is the current device.
at::Tensor on_device_of(const Group& group, const at::Tensor& tensor) {
  return is_nccl(group) && tensor.is_cpu() ? tensor.to(c10::kCUDA) : tensor;
}

}  // namespace

int rank_in(const Group& group) { return group ? group->getRank() : 0; }

int size_of(const Group& group) { return group ? group->getSize() : 1; }

void barrier(const Group& group) {
  if (!group) return;
  c10d::BarrierOptions options;
  // By default NCCL guesses the GPU from the rank's number, which may be another rank's GPU.
  if (is_nccl(group)) options.device_ids = {c10::impl::getDeviceGuardImpl(c10::kCUDA)->getDevice().index()};
  group->barrier(options)->wait();
}

std::vector<at::Tensor> all_gather(const Group& group, const at::Tensor& mine) {
  return start_all_gather(group, mine)();
}

namespace {

struct GatherRows : torch::autograd::Function<GatherRows> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& mine, const Group& group) {
    context->saved_data["first"] = mine.size(0) * group->getRank();
    context->saved_data["rows"] = mine.size(0);
    context->saved_data["ranks"] = group->getSize();
    return at::cat(all_gather(group, mine.contiguous()));
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = [context](const char* name) { return context->saved_data[name].toInt(); };
    return {gradients[0].narrow(0, saved("first"), saved("rows")) * saved("ranks"), {}};
  }
};

}  // namespace

at::Tensor gather_rows(const Group& group, const at::Tensor& mine) {
  if (!group || mine.dim() == 0) return mine;
  return GatherRows::apply(mine, group);
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

std::vector<std::string> all_gather_texts(const Group& group, const std::string& mine) {
  std::vector<std::int64_t> sizes;
  std::int64_t longest = 1;
  for (const at::Tensor& size :
       all_gather(group, at::scalar_tensor(static_cast<std::int64_t>(mine.size()), at::kLong))) {
    sizes.push_back(size.item<std::int64_t>());
    longest = std::max(longest, sizes.back());
  }
  // Pads to the longest text, because an all-gather needs the same shape on every rank.
  const at::Tensor bytes = at::zeros({longest}, at::kByte);
  if (!mine.empty()) std::memcpy(bytes.mutable_data_ptr(), mine.data(), mine.size());
  std::vector<std::string> texts;
  for (const at::Tensor& of_rank : all_gather(group, bytes)) {
    const auto size = static_cast<std::size_t>(sizes[texts.size()]);
    texts.emplace_back(static_cast<const char*>(of_rank.const_data_ptr()), size);
  }
  return texts;
}

std::string broadcast_text(const Group& group, const std::string& mine) {
  if (!group) return mine;
  const at::Tensor size = at::scalar_tensor(static_cast<std::int64_t>(mine.size()), at::kLong);
  broadcast_from_rank_0(group, {size});
  at::Tensor bytes = at::empty({size.item<std::int64_t>()}, at::kByte);
  if (group->getRank() == 0 && !mine.empty()) std::memcpy(bytes.mutable_data_ptr(), mine.data(), mine.size());
  broadcast_from_rank_0(group, {bytes});
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

void broadcast_from_rank_0(const Group& group, std::vector<at::Tensor> tensors) {
  if (!group || tensors.empty()) return;
  c10d::broadcast_coalesced(c10::intrusive_ptr<c10d::ProcessGroup>::reclaim_copy(group.get()), tensors, kBroadcastBytes,
                            0);
}

}  // namespace ddp::dist
