#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/plan/plan.h"
#include "rank/comm.h"
#include "rank/task.h"

namespace ddp::launch {

// What a run's weights come from; both empty: from its seed.
struct Start {
  std::filesystem::path resume_from;  // a complete checkpoint, to go on from
  std::filesystem::path init_from;    // a .safetensors file, for the weights alone
};

// The file that `init_from` names: itself, or the model of a checkpoint; empty: none. Throws ddp::Error (usage) where
// it is not there.
std::filesystem::path weights_of(const config::Loaded& loaded);

// libddp_rank.so, which needs LibTorch: loaded only when there is something to train, once, before the forks.
class RankLibrary {
 public:
  // `gpus`: also libddp_nccl.so, which brings libtorch_cuda. Throws ddp::Error (usage) where one cannot be
  // loaded. Loading takes about 0.2 s each: LibTorch's static initialisers.
  explicit RankLibrary(bool gpus);

  // As one rank; in a forked child. Returns its exit code.
  int train(const rank::Task& task) const { return train_(&task); }

  // Measures collectives as one rank, likewise.
  int comm(const rank::Task& task, const rank::CommOptions& options) const { return comm_(&task, &options); }

  // What only tensors can tell of an experiment, and of what it goes on from, from a throw-away child. Throws
  // ddp::Error (usage) where the experiment cannot be trained.
  // `timed`: also about how long a step takes.
  rank::Probe probe(const Plan& plan, const Start& start, bool timed = false) const;

 private:
  decltype(&rank::ddp_rank_train) train_;
  decltype(&rank::ddp_rank_comm) comm_;
  decltype(&rank::ddp_rank_probe) probe_;
};

}  // namespace ddp::launch
