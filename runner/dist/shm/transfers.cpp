// The methods of SharedMemory that use channels.

#include <ATen/core/grad_mode.h>

#include "dist/flat.h"
#include "dist/shm/backend.h"
#include "dist/shm/work.h"

namespace ddp::dist {
namespace {

using c10d::OpType;

// Negative, because tags of users are not negative.
constexpr int kAllToAllTag = -1;

void require_ranks(std::size_t parts, int world_size) {
  TORCH_CHECK(parts == static_cast<std::size_t>(world_size), "shm: all_to_all of ", parts, " parts for ", world_size,
              " ranks");
}

// Returns a view of each rank's rows; without sizes, every rank has the same number.
std::vector<at::Tensor> rows_of(const at::Tensor& whole, const std::vector<std::int64_t>& sizes, int world_size) {
  TORCH_CHECK(whole.dim() > 0, "shm: all_to_all needs rows, and this tensor is a scalar");
  const at::NoGradGuard no_grad;
  if (sizes.empty()) {
    TORCH_CHECK(whole.size(0) % world_size == 0, "shm: ", whole.size(0), " rows for ", world_size, " ranks");
    return whole.split(std::max<std::int64_t>(1, whole.size(0) / world_size));
  }
  return whole.split_with_sizes(sizes);
}

}  // namespace

class SharedMemory::TransferWork : public c10d::Work {
 public:
  TransferWork(SharedMemory& owner, OpType type, std::shared_ptr<Flat> flat, std::shared_ptr<Transfer> transfer)
      : Work(owner.rank_, type), owner_(owner), flat_(std::move(flat)), transfer_(std::move(transfer)) {}

  bool isCompleted() override {
    owner_.exclusively([&] { owner_.channels_.progress(); });
    return transfer_->done;
  }
  bool isSuccess() const override { return transfer_->done; }
  bool wait(std::chrono::milliseconds timeout) override {
    const char* name = opType_ == OpType::SEND ? "send" : "recv";
    owner_.exclusively([&] {
      owner_.channels_.wait(*transfer_, {.name = name, .timeout = timeout.count() > 0 ? timeout : owner_.timeout_});
    });
    if (opType_ != OpType::SEND) flat_->store();
    return true;
  }
  void abort() override {}
  int sourceRank() const override { return transfer_->peer; }
  std::vector<at::Tensor> result() override { return {flat_->tensor()}; }

 private:
  SharedMemory& owner_;
  std::shared_ptr<Flat> flat_;
  std::shared_ptr<Transfer> transfer_;
};

SharedMemory::WorkPtr SharedMemory::send(Tensors& tensors, int to, int tag) {
  auto flat = std::make_shared<Flat>(tensors.at(0));
  std::shared_ptr<Transfer> transfer;
  exclusively([&] { transfer = channels_.send(to, tag, flat->data(), flat->bytes(), flat); });
  return c10::make_intrusive<TransferWork>(*this, OpType::SEND, std::move(flat), std::move(transfer));
}

SharedMemory::WorkPtr SharedMemory::recv(Tensors& tensors, int from, int tag) {
  auto flat = std::make_shared<Flat>(tensors.at(0));
  std::shared_ptr<Transfer> transfer;
  exclusively([&] { transfer = channels_.receive(from, tag, flat->data(), flat->bytes(), flat); });
  const OpType type = from == SharedChannels::kAnyRank ? OpType::RECVANYSOURCE : OpType::RECV;
  return c10::make_intrusive<TransferWork>(*this, type, std::move(flat), std::move(transfer));
}

SharedMemory::WorkPtr SharedMemory::recvAnysource(Tensors& tensors, int tag) {
  return recv(tensors, SharedChannels::kAnyRank, tag);
}

SharedMemory::WorkPtr SharedMemory::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) {
  require_ranks(inputs.size(), size_);
  require_ranks(outputs.size(), size_);
  return run(OpType::ALLTOALL, "all_to_all", options.timeout, outputs, [&](const Call& call) {
    std::vector<std::shared_ptr<Flat>> incoming;
    std::vector<std::shared_ptr<Transfer>> transfers;
    for (int r = 0; r < size_; ++r) {
      incoming.push_back(std::make_shared<Flat>(outputs[r]));
      const auto& to = incoming.back();
      transfers.push_back(channels_.receive(r, kAllToAllTag, to->data(), to->bytes(), to));
    }
    for (int r = 0; r < size_; ++r) {
      auto from = std::make_shared<Flat>(inputs[r]);
      transfers.push_back(channels_.send(r, kAllToAllTag, from->data(), from->bytes(), from));
    }
    for (const auto& transfer : transfers) channels_.wait(*transfer, call);
    for (const auto& tensor : incoming) tensor->store();
  });
}

SharedMemory::WorkPtr SharedMemory::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                  std::vector<std::int64_t>& output_sizes,
                                                  std::vector<std::int64_t>& input_sizes,
                                                  const c10d::AllToAllOptions& options) {
  Tensors outputs = rows_of(output, output_sizes, size_);
  Tensors inputs = rows_of(input, input_sizes, size_);
  return alltoall(outputs, inputs, options);
}

}  // namespace ddp::dist
