#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_memory.h"
#include "config/data_description.h"
#include "config/experiment.h"
#include "config/option/value.h"
#include "record/shared_progress.h"

namespace ddp::rank {

struct TrainRequest;

// The environment of a rank: its experiment, its place among the ranks, its starting point, and its channels to the
// parent. Every verb takes a Task; options of a single verb are in the verb's request.
struct Task {
  const config::Experiment* experiment = nullptr;  // resolved: threads, batch_size and backend are set
  std::string config_hash = {};
  std::string settings = {};  // record::settings_of_checkpoint()
  int rank = 0;
  int world_size = 1;
  int ranks_here = 1;                     // on this node, forked by this rank's parent
  int first_rank = 0;                     // on this node
  std::int64_t bytes_to_record = 0;       // that a rank may take to record a step (ddp::memory_to_record)
  std::vector<std::string> devices = {};  // this rank's group: "cpu" or "cuda:3"
  std::string device_names = {};          // for messages: "cuda:3 NVIDIA H100 (0000:65:00.0, GPU-…)"
  std::filesystem::path run_directory = {};
  std::filesystem::path resume_from = {};  // the complete checkpoint to resume from; empty: a new run
  std::filesystem::path init_from = {};    // a .safetensors file with initial weights
  std::filesystem::path held_data = {};    // the file of a HoldRequest, for the ranks of this node; empty: none
  // The preprocessing that was fitted when the checkpoint was trained, for verbs that use it; null: fit it to the data.
  config::Value preprocessing = nullptr;
  std::optional<config::Rows> rows = {};  // as the checkpoint has them, of the same sets; nothing: read them
  // On rank 0 of ranks without a parent: opens the run directory, and notes in this rank's task and request where and
  // how the run starts. Called when all ranks have met and agree, so that nothing is written for a run that cannot
  // begin. Empty: the directory is open.
  std::function<void(Task&, TrainRequest&)> begin = {};
  MeetingPlace meeting = {};
  int console = -1;  // a pipe to the parent, which prints its lines
  record::SharedProgress* progress = nullptr;
  // All ranks were forked by one parent and share `progress` and the run directory. If false, only rank 0 has the run
  // directory.
  bool together = true;
  bool watched = true;       // a parent watches this rank and can name absent ranks
  bool is_rank = true;       // false: a process that helps ranks; its lines name no rank
  bool logs_failure = true;  // to its own output, besides the report to the parent
};

}  // namespace ddp::rank
