#include "dist/shm/backend.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "base/error.h"
#include "dist/process_group.h"
#include "kernels/kernels.h"

namespace ddp::dist {

c10::intrusive_ptr<c10::ivalue::Future> DoneWork::getFuture() {
  static const c10::TypePtr tensors = c10::ListType::create(c10::TensorType::get());
  auto future = c10::make_intrusive<c10::ivalue::Future>(tensors);
  future->markCompleted(c10::IValue(outputs_));
  return future;
}

namespace {

using c10d::OpType;

const at::Tensor& only(const std::vector<at::Tensor>& tensors) {
  TORCH_CHECK(tensors.size() == 1, "shm takes one tensor in each call, not ", tensors.size());
  return tensors.front();
}

// Returns one tensor for each rank, all with the dtype and size of `model`.
std::vector<Flat> flat_parts(const std::vector<at::Tensor>& tensors, const at::Tensor& model, int world_size) {
  TORCH_CHECK(tensors.size() == static_cast<std::size_t>(world_size), "shm: ", tensors.size(), " tensors for ",
              world_size, " ranks");
  std::vector<Flat> parts;
  for (const auto& tensor : tensors) {
    TORCH_CHECK(tensor.scalar_type() == model.scalar_type() && tensor.numel() == model.numel(), "shm: a tensor of ",
                tensor.sizes(), " ", tensor.dtype(), ", but expected ", model.sizes(), " ", model.dtype());
    parts.emplace_back(tensor);
  }
  return parts;
}

template <class Byte>
std::vector<Byte*> data_of(const std::vector<Flat>& parts) {
  std::vector<Byte*> data;
  for (const auto& part : parts) data.push_back(part.data());
  return data;
}

void store_all(const std::vector<Flat>& parts) {
  for (const auto& part : parts) part.store();
}

// Divides a tensor into equal parts, one for each rank.
std::vector<at::Tensor> parts_of(const at::Tensor& whole, const at::Tensor& part, int world_size) {
  TORCH_CHECK(whole.numel() == part.numel() * world_size, "shm: ", whole.numel(), " elements for ", world_size,
              " ranks of ", part.numel());
  TORCH_CHECK(whole.is_contiguous(), "shm divides contiguous tensors only");
  const at::NoGradGuard no_grad;
  const at::Tensor rows = whole.view({world_size, part.numel()});
  std::vector<at::Tensor> parts;
  for (int r = 0; r < world_size; ++r) parts.push_back(rows[r]);
  return parts;
}

}  // namespace

SharedMemory::SharedMemory(const Membership& m)
    : Backend(m.rank, m.world_size),
      segment_(m.meeting.memory, m.meeting.memory_bytes, m.rank, m.world_size, m.first_rank, m.progress),
      arena_(std::make_shared<SharedArena>(m.meeting.shared_file, m.rank, m.world_size)),
      collectives_(segment_, *arena_, m.sums_as_tree),
      channels_(segment_),
      timeout_(m.timeout) {
  segment_.set_meanwhile([this] { return channels_.progress(); });
  segment_.join();
  collectives_.barrier({.name = "the start of the group", .timeout = timeout_});
}

void SharedMemory::all_reduce_one(const at::Tensor& tensor, const c10d::ReduceOp& op, const Call& call) {
  const Reduction reduction = find_reduction(op, tensor.scalar_type());
  const Flat flat(tensor);
  collectives_.all_reduce(flat.data(), flat.count(), reduction, call);
  flat.store();
}

SharedMemory::WorkPtr SharedMemory::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  return run(OpType::ALLREDUCE, "all_reduce", options.timeout, tensors,
             [&](const Call& call) { all_reduce_one(only(tensors), options.reduceOp, call); });
}

SharedMemory::WorkPtr SharedMemory::allreduce_coalesced(Tensors& tensors,
                                                        const c10d::AllreduceCoalescedOptions& options) {
  return run(OpType::ALLREDUCE_COALESCED, "all_reduce_coalesced", options.timeout, tensors, [&](const Call& call) {
    for (const auto& tensor : tensors) all_reduce_one(tensor, options.reduceOp, call);
  });
}

SharedMemory::WorkPtr SharedMemory::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  return run(OpType::BROADCAST, "broadcast", options.timeout, tensors, [&](const Call& call) {
    const Flat flat(only(tensors));
    collectives_.broadcast(flat.data(), flat.bytes(), static_cast<int>(options.rootRank), call);
    flat.store();
  });
}

SharedMemory::WorkPtr SharedMemory::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  return run(OpType::REDUCE, "reduce", options.timeout, tensors, [&](const Call& call) {
    const Reduction reduction = find_reduction(options.reduceOp, only(tensors).scalar_type());
    const Flat flat(only(tensors));
    collectives_.reduce(flat.data(), flat.count(), reduction, static_cast<int>(options.rootRank), call);
    flat.store();
  });
}

SharedMemory::WorkPtr SharedMemory::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) {
  TORCH_CHECK(outputs.size() == 1, "shm: all_gather needs one list of outputs, not ", outputs.size());
  return run(OpType::ALLGATHER, "all_gather", options.timeout, outputs.front(), [&](const Call& call) {
    const Flat mine(only(inputs));
    const auto all = flat_parts(outputs.front(), inputs.front(), size_);
    collectives_.all_gather(mine.data(), mine.bytes(), data_of<std::byte>(all), call);
    store_all(all);
  });
}

SharedMemory::WorkPtr SharedMemory::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                    const c10d::AllgatherOptions& options) {
  std::vector<Tensors> outputs{parts_of(output, input, size_)};
  Tensors inputs{input};
  return allgather(outputs, inputs, options);
}

SharedMemory::WorkPtr SharedMemory::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                                        const c10d::AllgatherOptions& options) {
  WorkPtr work;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::vector<Tensors> of_all(1);
    for (const auto& of_rank : outputs) of_all[0].push_back(of_rank.at(i));
    Tensors mine{inputs[i]};
    work = allgather(of_all, mine, options);
  }
  return work;
}

SharedMemory::WorkPtr SharedMemory::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                    const c10d::AllgatherOptions& options) {
  TORCH_CHECK(outputs.size() == inputs.size(), "shm: needs the same number of outputs and inputs");
  WorkPtr work;
  for (std::size_t i = 0; i < inputs.size(); ++i) work = _allgather_base(outputs[i], inputs[i], options);
  return work;
}

SharedMemory::WorkPtr SharedMemory::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                           const c10d::GatherOptions& options) {
  const bool root = options.rootRank == rank_;
  TORCH_CHECK(outputs.size() == (root ? 1 : 0), "shm: gather has one list of outputs on its root and none elsewhere");
  return run(OpType::GATHER, "gather", options.timeout, root ? outputs.front() : Tensors{}, [&](const Call& call) {
    const Flat mine(only(inputs));
    const auto all = root ? flat_parts(outputs.front(), inputs.front(), size_) : std::vector<Flat>{};
    collectives_.gather(mine.data(), mine.bytes(), data_of<std::byte>(all), static_cast<int>(options.rootRank), call);
    store_all(all);
  });
}

SharedMemory::WorkPtr SharedMemory::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                            const c10d::ScatterOptions& options) {
  const bool root = options.rootRank == rank_;
  TORCH_CHECK(inputs.size() == (root ? 1 : 0), "shm: scatter has one list of inputs on its root and none elsewhere");
  return run(OpType::SCATTER, "scatter", options.timeout, outputs, [&](const Call& call) {
    const Flat mine(only(outputs));
    const auto all = root ? flat_parts(inputs.front(), outputs.front(), size_) : std::vector<Flat>{};
    collectives_.scatter(data_of<const std::byte>(all), mine.data(), mine.bytes(), static_cast<int>(options.rootRank),
                         call);
    mine.store();
  });
}

void SharedMemory::reduce_scatter_one(const at::Tensor& output, const Tensors& inputs, const c10d::ReduceOp& op,
                                      const Call& call) {
  const Reduction reduction = find_reduction(op, output.scalar_type());
  const Flat mine(output);
  const auto all = flat_parts(inputs, output, size_);
  collectives_.reduce_scatter(data_of<const std::byte>(all), mine.data(), mine.count(), reduction, call);
  mine.store();
}

void SharedMemory::average_shares(const at::Tensor& tensor, const std::vector<Range>& own) {
  run(OpType::ALLREDUCE, "all_reduce", timeout_, {}, [&](const Call& call) {
    const Flat all(tensor);
    auto* const numbers = reinterpret_cast<float*>(all.data());
    const auto factor = static_cast<float>(1.0 / size_);
    if (collectives_.sum_shares(numbers, all.count(), own, factor, call)) return;
    kernels::scale(numbers, factor, numbers, tensor.numel());
    collectives_.all_reduce(all.data(), all.count(), find_reduction(c10d::ReduceOp::SUM, tensor.scalar_type()), call);
  });
}

SharedMemory::WorkPtr SharedMemory::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                                   const c10d::ReduceScatterOptions& options) {
  TORCH_CHECK(inputs.size() == 1, "shm: reduce_scatter needs one list of inputs, not ", inputs.size());
  return run(OpType::REDUCE_SCATTER, "reduce_scatter", options.timeout, outputs,
             [&](const Call& call) { reduce_scatter_one(only(outputs), inputs.front(), options.reduceOp, call); });
}

SharedMemory::WorkPtr SharedMemory::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                         const c10d::ReduceScatterOptions& options) {
  return run(OpType::_REDUCE_SCATTER_BASE, "reduce_scatter", options.timeout, {output}, [&](const Call& call) {
    reduce_scatter_one(output, parts_of(input, output, size_), options.reduceOp, call);
  });
}

SharedMemory::WorkPtr SharedMemory::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                    const c10d::ReduceScatterOptions& options) {
  TORCH_CHECK(outputs.size() == inputs.size(), "shm: needs the same number of outputs and inputs");
  WorkPtr work;
  for (std::size_t i = 0; i < inputs.size(); ++i) work = _reduce_scatter_base(outputs[i], inputs[i], options);
  return work;
}

SharedMemory::WorkPtr SharedMemory::barrier(const c10d::BarrierOptions& options) {
  return run(OpType::BARRIER, "barrier", options.timeout, {}, [&](const Call& call) { collectives_.barrier(call); });
}

void SharedMemory::monitoredBarrier(const c10d::BarrierOptions& options, bool) { barrier(options); }

// The methods of SharedMemory that use channels.

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
