#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "launch/cluster/launcher.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "record/run_directory.h"

namespace ddp::launch {

// One rank that torchrun or srun started: this process. There is no parent of ours: it hears signals itself, and speaks
// on its own stderr. Rank 0 writes the results.
struct LaunchedRank {
  const Plan& plan;
  const RankLibrary& library;
  const Launch& launch;
  std::optional<record::RunDirectory> directory = {};  // rank 0's, or one that this rank sees
  std::filesystem::path experiment_folder;
  bool resumed = false;
  std::string changes = {};  // of the experiment since then, as rank::Task tells them
  Start start;
  FileDescriptor lock;  // of the run, on rank 0
  std::function<void()> begun =
      {};  // is called once on rank 0, as soon as the folder holds config.toml and summary.json
};

// Returns the program's exit code.
int train_launched(const LaunchedRank& rank);

// The newest run under results/<name> that was begun by this launch, in an earlier attempt.
std::optional<record::RunDirectory> find_launched(const std::filesystem::path& runs, const std::string& launch_id);

}  // namespace ddp::launch
