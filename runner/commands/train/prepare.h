#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "launch/held/held_data.h"
#include "launch/held/shelf.h"
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
  launch::HeldData data;
  rank::Probe probe;
  launch::Workload workload;
  std::vector<std::string> warnings;  // a line each
};

// Plans the ranks, loads the rank library, and tries model and data; prints the warnings in
// the process of rank 0. Throws ddp::Error (usage): nothing was started.
// `resume_from`: the complete checkpoint that it goes on from; empty: it starts. `global_batch_size`: of the
// run that it is; not given: the file says. `use`: of the data, where this process forks all ranks.
Prepared prepare(config::Loaded loaded, const launch::Launch& launch, const std::filesystem::path& resume_from = {},
                 std::optional<std::int64_t> global_batch_size = {}, const launch::DataUse& use = {});

// Tries the model and the data of a plan, as launch::probe does. Throws what it does, a refusal at the key that is to
// blame, or at the file.
rank::Probe try_model(const launch::RankLibrary& library, const config::Loaded& loaded, const launch::Plan& plan,
                      const launch::Start& start, const launch::HeldData& data, bool timed = false);

// Prepares the data of a plan, as launch::hold_data does, with refusals at the line that is to blame.
launch::HeldData read_data(const launch::RankLibrary& library, const config::Loaded& loaded, launch::Plan& plan,
                           bool one_rank = false, const launch::DataUse& use = {});
// The same from the shelf of a sweep, where they are there.
std::shared_ptr<const launch::HeldData> read_data(const launch::RankLibrary& library, const config::Loaded& loaded,
                                                  launch::Plan& plan, const launch::DataShelf& shelf);

}  // namespace ddp::commands
