#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dist/parallel/buckets.h"
#include "record/file/hash.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/data_files.h"

namespace ddp::checkpoint {

// All of a run but its tensors: state.json. What a run that goes on must know to give the same bits.
struct State {
  std::int64_t epoch = 0;     // the epoch that comes next, or that is under way
  std::int64_t position = 0;  // micro-batches of that epoch that are done
  // Samples of that epoch that were done when `position` began to count: by other ranks, or in other micro-batches.
  std::int64_t offset = 0;
  std::int64_t step = 0;  // optimizer steps done
  int world_size = 1;
  std::int64_t batch_size = 0;         // of a rank's micro-batch
  std::int64_t global_batch_size = 0;  // of a step, over all ranks
  std::vector<std::string> rng;        // of each rank: the CPU generator's state, base64
  // The same of GPUs: of every rank's first, of every rank's second, …; empty on the CPU.
  std::vector<std::vector<std::string>> gpu_rng;
  std::vector<std::string> freeze = {};  // the experiment's; the buckets are of the parameters that it left over
  dist::Buckets buckets;                 // the reducer's rebuilt buckets
  double seconds = 0;                    // training time so far
  std::int64_t seen = 0;                 // samples of the epoch under way, by all ranks
  double loss_sum = 0;                   // of them, those whose loss was finite: sum, and how many
  double loss_weight = 0;                // samples, or targets that count, by their weights
  std::int64_t loss_samples = 0;
  config::Metric judged_by;
  double metric = std::numeric_limits<double>::quiet_NaN();  // of this checkpoint
  record::SaveReason reason = record::SaveReason::regular;
  std::string ended_by;  // why the run has ended here, record::kAllSteps or a rule's name; empty: it has not
  std::map<std::string, config::Value> rules = {};  // the numbers of each rule (train/rules), by its name
  std::string config_hash;
  std::map<std::string, record::Digest> files;
  // The files of the data, as they were before they were read; nothing: an older version wrote the state.
  std::optional<std::vector<record::DataFile>> data = std::vector<record::DataFile>{};
};

std::string to_text(const State& state);
// The text is data from outside. Throws ddp::Error (training) where it is damaged; `name` says whose it is.
State parse_state(const std::string& text, const std::string& name);

}  // namespace ddp::checkpoint
