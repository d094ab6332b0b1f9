#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dist/collectives.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/data_files.h"

namespace ddp::checkpoint {

// The state of a run except its tensors: the contents of state.json. A resumed run needs it to give the same bits.
struct State {
  std::int64_t epoch = 0;     // the current epoch, or the next one
  std::int64_t position = 0;  // micro-batches done in that epoch
  // Samples of that epoch that were done before `position` began to count, with another world size or batch size.
  std::int64_t offset = 0;
  std::int64_t step = 0;               // optimizer steps done
  std::int64_t skipped_steps = 0;      // of these, left out because a loss or a gradient was not finite
  int world_size = 1;                  // logical ranks
  int ranks = 1;                       // that computed them
  std::int64_t batch_size = 0;         // of a rank's micro-batch
  std::int64_t global_batch_size = 0;  // of a step, over all ranks
  std::vector<std::string> rng;        // of each rank: the CPU generator's state, base64
  // The GPU generators: of every rank's first GPU, of every rank's second GPU, …; empty on the CPU.
  std::vector<std::vector<std::string>> gpu_rng;
  std::vector<std::string> freeze = {};  // of the experiment; buckets index the parameters that are not frozen
  dist::Buckets buckets;                 // the reducer's rebuilt buckets
  double seconds = 0;                    // training time so far
  std::int64_t seen = 0;                 // samples of the current epoch, over all ranks
  double loss_sum = 0;                   // sum of the finite losses of these samples
  double loss_weight = 0;                // their number of samples, or weight of targets that count
  std::vector<double> scalar_sums;       // the same sum of each scalar that comes with the loss
  std::int64_t loss_samples = 0;
  config::Metric judged_by;
  double metric = std::numeric_limits<double>::quiet_NaN();  // metric value of this checkpoint
  record::SaveReason reason = record::SaveReason::regular;
  std::string ended_by;         // why the run ended here: record::kAllSteps or a rule's name; empty: not ended
  bool validation_due = false;  // the data of the validation after this step did not come: a resume makes it first
  std::int64_t spacing = 0;  // with a ladder: smallest number of steps between two saves so far; 0: this is the first
  std::map<std::string, config::Value> rules = {};  // the state of each rule (train/rules), by its name
  std::string config_hash;
  std::string settings = {};  // the text of the checkpoint's settings.toml, a file of its own
  std::map<std::string, record::Digest> files;
  // The files of the data, recorded before they were read; nullopt: an older version wrote the state.
  std::optional<std::vector<record::DataFile>> data = std::vector<record::DataFile>{};
  config::Rows rows = {};  // of the data; none: an older version wrote the state

  void fields(config::Fields& f);
  std::int64_t epoch_of_step() const { return record::epoch_of_step(epoch, position > 0 || offset > 0); }
};

std::string to_text(const State& state);
// Parses untrusted text. Throws ddp::Error (training) if it is damaged; errors name the source `name`.
State parse_state(const std::string& text, const std::string& name);

}  // namespace ddp::checkpoint
