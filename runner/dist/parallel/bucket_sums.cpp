#include "dist/parallel/bucket_sums.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "dist/watched_group.h"
#include "model/recording.h"

namespace ddp::dist {

c10::intrusive_ptr<c10::ivalue::Future> AveragesOfShares::runHook(c10d::GradBucket& bucket) {
  const at::Tensor& buffer = bucket.getBufferRef();
  std::vector<Range>& own = own_[buffer.const_data_ptr()];
  own.clear();
  for (const at::Tensor& gradient : bucket.getGradients()) {
    const Range share = range_of(gradient.numel(), group_->getRank(), group_->getSize());
    const std::int64_t place = gradient.storage_offset() - buffer.storage_offset();
    if (share.count > 0) own.push_back({.from = place + share.from, .count = share.count});
  }
  take(buffer);
  auto done = c10::make_intrusive<c10::ivalue::Future>(c10::TensorType::get());
  done->markCompleted(buffer);
  return done;
}

void AveragesOfShares::take(const at::Tensor& buffer) {
  average_shares(group_, buffer, own_.at(buffer.const_data_ptr()));
}

SumsOfLogicalRanks::SumsOfLogicalRanks(Group group, int here)
    : group_(std::move(group)), factor_(at::scalar_tensor(1.0 / (here * group_->getSize()), at::kDouble)) {}

void SumsOfLogicalRanks::keep(const std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard no_grad;
  if (std::exchange(summed_, false)) {
    for (Sum& sum : sums_) put_by(sum);
  }
  Sum sum;
  for (const at::Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    std::vector<at::Tensor>& memory = memory_[parameter.unsafeGetTensorImpl()];
    at::Tensor kept = memory.empty() ? at::empty_like(parameter.grad()) : std::move(memory.back());
    if (!memory.empty()) memory.pop_back();
    sum[parameter.unsafeGetTensorImpl()] = at::mul_out(kept, parameter.grad(), factor_);
  }
  std::size_t level = 0;
  for (; level < sums_.size() && !sums_[level].empty(); ++level) {
    for (auto& [parameter, gradient] : sum) add(sums_[level], parameter, gradient);
    put_by(sums_[level]);
  }
  if (level == sums_.size()) sums_.emplace_back();
  sums_[level] = std::move(sum);
}

void SumsOfLogicalRanks::put_by(Sum& sum) {
  for (auto& [parameter, gradient] : sum) memory_[parameter].push_back(std::move(gradient));
  sum.clear();
}

c10::intrusive_ptr<c10::ivalue::Future> SumsOfLogicalRanks::runHook(c10d::GradBucket& bucket) {
  const at::Tensor& buffer = bucket.getBufferRef();
  auto& gradients = gradients_[buffer.const_data_ptr()];
  gradients.clear();
  const std::vector<at::Tensor> parameters = bucket.getParameters(), views = bucket.getGradients();
  for (std::size_t i = 0; i < views.size(); ++i) {
    // The reducer lays out a gradient as its parameter; these views lack that (reducer.cpp, initialize_bucket_views).
    const at::Tensor& parameter = parameters[i];
    const at::Tensor gradient =
        parameter.is_non_overlapping_and_dense()
            ? buffer.as_strided(parameter.sizes(), parameter.strides(), views[i].storage_offset())
            : views[i];
    gradients.emplace_back(parameter.unsafeGetTensorImpl(), gradient);
  }
  add_kept(buffer);
  std::vector<at::Tensor> tensors = {buffer};
  return group_->allreduce(tensors)->getFuture();
}

at::Tensor SumsOfLogicalRanks::parseHookResult(const c10::IValue& result) {
  return c10d::detail::parseCppCommHookResult(result);
}

void SumsOfLogicalRanks::add_kept(const at::Tensor& buffer) {
  const at::NoGradGuard no_grad;
  // Like the sums over the ranks.
  const model::Unrecorded unrecorded;
  summed_ = true;
  buffer.mul_(factor_);
  for (const auto& [parameter, gradient] : gradients_.at(buffer.const_data_ptr())) {
    for (const Sum& sum : sums_) add(sum, parameter, gradient);
  }
}

// The reducer names the parameters that have no gradient.
void SumsOfLogicalRanks::add(const Sum& sum, const void* parameter, const at::Tensor& gradient) {
  const auto found = sum.find(parameter);
  if (found != sum.end()) gradient.add_(found->second);
}

}  // namespace ddp::dist
