#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "launch/plan/start.h"

namespace ddp::commands {

// An experiment that can be trained here: everything that is wrong with it was found before this is.
struct Prepared {
  config::Loaded loaded;
  launch::Plan plan;
  launch::Start start;
  std::unique_ptr<launch::RankLibrary> library;
  rank::Probe probe;
  launch::Workload workload;
  std::vector<std::string> warnings;  // a line each
};

// Plans the ranks, loads the rank library, and tries model and data; prints the warnings in
// the process of rank 0. Throws ddp::Error (usage): nothing was started.
// `resume_from`: the complete checkpoint that it goes on from; empty: it starts. `global_batch_size`: of the
// run that it is; not given: the file says.
Prepared prepare(config::Loaded loaded, const launch::Launch& launch, const std::filesystem::path& resume_from = {},
                 std::optional<std::int64_t> global_batch_size = {});

// Tries the model and the data of a plan, as launch::probe does. Throws what it does, a refusal at the key that is to
// blame, or at the file.
rank::Probe try_model(const launch::RankLibrary& library, const config::Loaded& loaded, const launch::Plan& plan,
                      const launch::Start& start, bool timed = false);

}  // namespace ddp::commands
