#include "dist/shm/backend.h"

#include <cstddef>

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "base/error.h"
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
      timeout_(m.timeout) {
  segment_.join();
  collectives_.barrier({.name = "the start of the group", .timeout = timeout_});
}

template <class Body>
SharedMemory::WorkPtr SharedMemory::run(c10d::OpType type, const char* name, std::chrono::milliseconds timeout,
                                        Tensors outputs, const Body& body) {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  try {
    body(Call{.name = name, .timeout = timeout.count() > 0 ? timeout : timeout_});
  } catch (const Error&) {
    failure_ = std::current_exception();
    throw;
  }
  return c10::make_intrusive<DoneWork>(rank_, type, std::move(outputs));
}

SharedMemory::WorkPtr SharedMemory::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  return run(OpType::ALLREDUCE, "all_reduce", options.timeout, tensors, [&](const Call& call) {
    const Reduction reduction = find_reduction(options.reduceOp, only(tensors).scalar_type());
    const Flat flat(only(tensors));
    collectives_.all_reduce(flat.data(), flat.count(), reduction, call);
    flat.store();
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

SharedMemory::WorkPtr SharedMemory::barrier(const c10d::BarrierOptions& options) {
  return run(OpType::BARRIER, "barrier", options.timeout, {}, [&](const Call& call) { collectives_.barrier(call); });
}

}  // namespace ddp::dist
