#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace c10d {
class ProcessGroup;
}

namespace ddp::dist {

// A process group; null: a world of one rank. A shared_ptr, since c10's own pointer needs the whole type, whose
// header is large, in every file that names it.
using Group = std::shared_ptr<c10d::ProcessGroup>;

// This rank's place in the group, and how many ranks it has.
int rank_in(const Group& group);
int size_of(const Group& group);

// Each of the following returns when it is done on this rank.

// Returns once all ranks have called it.
void barrier(const Group& group);

// Every rank's tensor (same shape and dtype on each), in rank order.
std::vector<at::Tensor> all_gather(const Group& group, const at::Tensor& mine);

// The same, started now: the call waits for it.
using PendingGather = std::function<std::vector<at::Tensor>()>;
PendingGather start_all_gather(const Group& group, const at::Tensor& mine);

// Every rank's text, in rank order.
std::vector<std::string> all_gather_texts(const Group& group, const std::string& mine);

// Rank 0's text, on every rank.
std::string broadcast_text(const Group& group, const std::string& mine);

// Rank 0's values go into every rank's tensors, in place.
void broadcast_from_rank_0(const Group& group, std::vector<at::Tensor> tensors);

}  // namespace ddp::dist
