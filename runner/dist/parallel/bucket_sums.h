#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include "dist/collectives.h"
#include "dist/shares.h"

namespace ddp::dist {

// These hooks replace the all-reduce of a full bucket in c10d::Reducer (register_comm_hook()). With a hook, the Reducer
// does not divide gradients by the number of ranks.

// Averages the numbers of a bucket over the ranks, of each gradient only this rank's share. Other ranks need the rest.
class AveragesOfShares : public c10d::CommHookInterface {
 public:
  explicit AveragesOfShares(Group group) : group_(std::move(group)) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override;
  at::Tensor parseHookResult(const c10::IValue& result) override { return result.toTensor(); }

  // Averages a bucket that a backward pass has averaged before.
  void take(const at::Tensor& buffer);

 private:
  const Group group_;
  std::unordered_map<const void*, std::vector<Range>> own_;  // of each bucket, by its memory
};

// Adds up the gradients of the logical ranks that a rank computes one after another, as a balanced binary tree, and
// then those of all ranks. Each is multiplied by 1 / logical ranks first. Gradients of the last logical rank come in
// the buckets of the Reducer.
class SumsOfLogicalRanks : public c10d::CommHookInterface {
 public:
  // `here`: the number of logical ranks of each rank, a power of two.
  SumsOfLogicalRanks(Group group, int here);

  // Keeps the gradients of a logical rank. Sums of as many logical ranks are added up, as in a binary counter.
  void keep(const std::vector<at::Tensor>& parameters);

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override;
  at::Tensor parseHookResult(const c10::IValue& result) override;

  // Adds what was kept to a bucket of the last logical rank, which a backward pass has summed before.
  void add_kept(const at::Tensor& buffer);

 private:
  using Sum = std::unordered_map<const void*, at::Tensor>;  // by parameter
  static void add(const Sum& sum, const void* parameter, const at::Tensor& gradient);
  void put_by(Sum& sum);

  const Group group_;
  const at::Tensor factor_;
  std::vector<Sum> sums_;                                            // of 1, 2, 4, … logical ranks; empty: none
  std::unordered_map<const void*, std::vector<at::Tensor>> memory_;  // of each parameter, for later sums
  bool summed_ = false;                                              // the step's gradients are in the buckets
  std::unordered_map<const void*, std::vector<std::pair<const void*, at::Tensor>>> gradients_;  // of each bucket
};

}  // namespace ddp::dist
