#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace c10d {
class ProcessGroup;
}

namespace ddp::dist {

// A process group; null if the world size is 1. A shared_ptr, because c10's intrusive_ptr needs the complete type,
// whose header is large, in every file that uses it.
using Group = std::shared_ptr<c10d::ProcessGroup>;

// Return this rank's number in the group, and the number of ranks.
int rank_in(const Group& group);
int size_of(const Group& group);

// Each of the following collectives returns when it is complete on this rank.

// Returns once all ranks have called it.
void barrier(const Group& group);

// Returns every rank's tensor in rank order. Shape and dtype must be the same on every rank.
std::vector<at::Tensor> all_gather(const Group& group, const at::Tensor& mine);

// Returns the rows of every rank's tensor, in rank order, as one tensor. In backward each rank gets the gradient of its
// own rows times the number of ranks: if every rank computes the same loss from the result, averaged gradients are
// those of this loss. A tensor without dimensions is returned as it is.
at::Tensor gather_rows(const Group& group, const at::Tensor& mine);

// Starts an all-gather. A call of the result waits for it.
using PendingGather = std::function<std::vector<at::Tensor>()>;
PendingGather start_all_gather(const Group& group, const at::Tensor& mine);

// Returns every rank's text, in rank order.
std::vector<std::string> all_gather_texts(const Group& group, const std::string& mine);

// Returns rank 0's text on every rank.
std::string broadcast_text(const Group& group, const std::string& mine);

// Copies rank 0's values into every rank's tensors, in place.
void broadcast_from_rank_0(const Group& group, std::vector<at::Tensor> tensors);

// The buckets of gradients that are all-reduced together: for each bucket, indices into the parameters.
using Buckets = std::vector<std::vector<std::size_t>>;

}  // namespace ddp::dist
