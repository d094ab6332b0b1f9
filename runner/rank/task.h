#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/meeting_place.h"
#include "config/experiment.h"
#include "config/value.h"
#include "record/progress_page.h"

namespace ddp::rank {

// The place of a rank: what it works on, among whom, from which start, and how its parent hears of it. Every verb takes
// one; what only one verb needs is in the verb's request.
struct Task {
  const config::Experiment* experiment = nullptr;  // resolved: threads, batch_size and backend are set
  std::string config_hash = {};
  int rank = 0;
  int world_size = 1;
  int ranks_here = 1;                     // of this machine, forked by this rank's parent
  int first_rank = 0;                     // of this machine
  std::vector<std::string> devices = {};  // this rank's group: "cpu" or "cuda:3"
  std::string device_names = {};          // the same for people: "cuda:3 NVIDIA H100 (0000:65:00.0, GPU-…)"
  std::filesystem::path run_directory = {};
  std::filesystem::path resume_from = {};  // the complete checkpoint to go on from; empty: from the start
  std::filesystem::path init_from = {};    // a .safetensors file to take weights from
  std::filesystem::path held_data = {};    // the file of a HoldRequest, for the ranks of this machine; empty: none
  // The result of the fit when a checkpoint was trained, for verbs that use it; null: the data are fitted.
  config::Value preprocessing = nullptr;
  MeetingPlace meeting = {};
  int console = -1;  // a pipe: whole lines for the parent to show
  record::ProgressPage* progress = nullptr;
  // All ranks were forked by one parent: they share `progress`, and the run directory. Else rank 0 alone has that.
  bool together = true;
  bool watched = true;       // a parent watches this rank, and can tell who stays away
  bool logs_failure = true;  // into its own output, besides telling the parent
};

}  // namespace ddp::rank
