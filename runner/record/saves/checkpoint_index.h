#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "config/metric.h"
#include "config/option/fields.h"
#include "record/file/input_file.h"

namespace ddp::record {

// The reason for a checkpoint: the experiment file requires it at that step, or the run ended there (regular); the
// metric was the best so far; or save_every_minutes had passed. If several hold, the first of them counts.
enum class SaveReason { regular, best, time };
constexpr std::array<const char*, 3> names_of(SaveReason) { return {"regular", "best", "time"}; }

// The metric of a checkpoint with its value, as state.json has it.
struct Judgement {
  config::Metric by = {};
  double value = std::numeric_limits<double>::quiet_NaN();

  void fields(config::Fields& f) {
    f({.name = "name"}, by.name);
    f({.name = "value", .may_be_null = true}, value);
    // A metric without a direction comes from a version that had only losses and val_accuracy.
    if (f.reads()) by.direction = by.name == "val_accuracy" ? config::Direction::greater : config::Direction::less;
    f({.name = "direction", .may_be_missing = true}, by.direction);
  }
};

// Functions on checkpoints that need no torch: the parent picks the checkpoint from which a run resumes.

// The file whose presence says that all other files are there and complete.
inline constexpr const char* kComplete = "COMPLETE";

// Is it a checkpoint's name, "step-" and digits? Other names in the folder, such as step-00000096-keep, are the user's:
// they are never listed, read or removed.
bool is_checkpoint_name(const std::string& name);

// Does the folder have COMPLETE, and a state.json that matches it?
bool is_complete(const std::filesystem::path& folder);

// Returns the damage of a checkpoint: "it is not complete", or the first file whose size or checksum differs from
// state.json; "" if the checkpoint is whole. Reads all files, each through `hash_of`, which returns its XXH3-64.
using HashOf = std::function<std::string(const std::filesystem::path& file)>;
std::string damage_of(const std::filesystem::path& folder, const HashOf& hash_of = hash_hex_of);

// Returns the folders of all checkpoints, whole or not, newest first.
std::vector<std::filesystem::path> checkpoint_folders(const std::filesystem::path& checkpoints);

// Returns the complete checkpoints of a run, newest first.
std::vector<std::filesystem::path> complete_checkpoints(const std::filesystem::path& checkpoints);

// Returns the step in a checkpoint's name; 0 for another name.
std::int64_t step_of(const std::filesystem::path& folder);

// Returns the checkpoints from which a run may resume, newest first: all up to the one that the link `latest` names.
// (Later checkpoints belong to a run that went back and was stopped before it saved again.)
std::vector<std::filesystem::path> up_to_latest(const std::filesystem::path& checkpoints);

// Returns the newest complete one of them, or an empty path.
std::filesystem::path latest_checkpoint(const std::filesystem::path& checkpoints);

// The value of `ended_by` if the run has done all of its steps. Any other value names the rule that ended the run
// earlier.
inline constexpr const char* kAllSteps = "steps";

// Returns the epoch of the last step, where `epoch` is that of the next one.
inline std::int64_t epoch_of_step(std::int64_t epoch, bool inside_epoch) {
  return inside_epoch || epoch == 0 ? epoch : epoch - 1;
}

// A run's state at a checkpoint.
struct Position {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t position = 0;  // finished micro-batches of that epoch, behind `offset`
  std::int64_t offset = 0;    // samples of that epoch done earlier, by other ranks or in other micro-batches
  int world_size = 1;
  std::int64_t global_batch_size = 0;  // samples of a step
  double seconds = 0;
  config::Metric judged_by = {};
  std::optional<double> metric;
  SaveReason reason = SaveReason::regular;
  std::string ended_by = {};    // why the run ended; empty: it had not ended
  bool validation_due = false;  // a resume makes it first
  std::int64_t spacing = 0;     // smallest number of steps between two saves of a run with a ladder; 0: not known
  config::Value stop = {};      // the numbers of its rule "stop" (train/rules/patience.h); null: no such rule

  // Of state.json, which has more.
  void fields(config::Fields& f);
  bool inside_epoch() const { return position > 0 || offset > 0; }
  std::int64_t epoch_of_step() const { return record::epoch_of_step(epoch, inside_epoch()); }
};
// Throws ddp::Error (usage) if the checkpoint's state.json is damaged.
Position position_of(const std::filesystem::path& checkpoint);

// A checkpoint with its value of a metric.
struct Ranked {
  std::filesystem::path folder;
  double value = 0;
  std::int64_t step = 0;
};

// Returns the checkpoints that have a value of this metric, best first; among equals the older first, because only an
// improvement replaces the best. Checkpoints that were saved because of the time do not count: the time of a save must
// not change the result.
std::vector<Ranked> by_metric(const std::vector<std::filesystem::path>& newest_first, const config::Metric& metric);

// The same for the metric of the newest of these checkpoints.
std::vector<std::filesystem::path> by_metric(const std::vector<std::filesystem::path>& newest_first);

// Returns the best of the complete checkpoints from which the run may resume.
std::optional<Ranked> best_saved(const std::filesystem::path& checkpoints, const config::Metric& metric);

// Checkpoints whose files all match state.json. To find one, all its files are read.

// Returns the newest whole checkpoint; warns about newer ones that are damaged. Returns an empty path if the run has no
// complete checkpoint yet. Throws ddp::Error (usage) if it has some and all of them are damaged.
std::filesystem::path newest_whole(const std::filesystem::path& checkpoints);

// Returns the whole checkpoint with the best value of the metric, or the newest whole one if none has a value; warns
// about better ones that are damaged. Returns and throws the same as newest_whole().
std::filesystem::path best_whole(const std::filesystem::path& checkpoints, const config::Metric& metric);

// Throws ddp::Error (usage) if the checkpoint is damaged. Its remedy names another checkpoint, if one is whole.
void require_whole(const std::filesystem::path& checkpoint);

}  // namespace ddp::record
