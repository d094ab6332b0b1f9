#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/metric.h"
#include "config/value.h"

namespace ddp::record {

// Why a checkpoint was saved: the experiment file asks for it at that step, or the run ended there (regular); the
// metric was the best so far; or save_every_minutes had passed. Where several hold, the first of them counts.
enum class SaveReason { regular, best, time };
const char* to_string(SaveReason reason);
// The member "reason" of a state.json; regular where there is none. Throws std::runtime_error where it is no reason.
SaveReason reason_member(const nlohmann::json& state);

// The metric that the member "metric" of a state.json names. Where it tells no direction, a version wrote it whose
// metrics were losses and val_accuracy. Throws std::runtime_error where it is damaged.
config::Metric metric_member(const nlohmann::json& state);

// What can be told of checkpoints without torch: the parent picks the one that a run goes on from.

// The file whose presence says that all others are there, whole.
inline constexpr const char* kComplete = "COMPLETE";

// Is the checkpoint there whole: COMPLETE, and state.json as COMPLETE says it was?
bool is_complete(const std::filesystem::path& folder);

// What is wrong with a checkpoint: "it is not complete", or which of its files is not what state.json says, by size and
// checksum; "" where it is whole. Reads all of it.
std::string damage_of(const std::filesystem::path& folder);

// The folders of checkpoints, whole or not, newest first.
std::vector<std::filesystem::path> checkpoint_folders(const std::filesystem::path& checkpoints);

// The complete checkpoints of a run, newest first.
std::vector<std::filesystem::path> complete_checkpoints(const std::filesystem::path& checkpoints);

// The step in a checkpoint's name.
std::int64_t step_of(const std::filesystem::path& folder);

// Those that a run may go on from, newest first: not after the one that the link `latest` names. (Those after it were
// given up by a run that went back, and was stopped before it saved.)
std::vector<std::filesystem::path> up_to_latest(const std::filesystem::path& checkpoints);

// The newest of them that is complete; empty where there is none.
std::filesystem::path latest_checkpoint(const std::filesystem::path& checkpoints);

// A run has ended because it has done all of its steps. Another word names the rule that ended it before.
inline constexpr const char* kAllSteps = "steps";

// Where a run stood at a checkpoint.
struct Position {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t position = 0;  // micro-batches of that epoch that are done,
  std::int64_t offset = 0;    // after so many samples, done by other ranks or in other micro-batches
  int world_size = 1;
  std::int64_t global_batch_size = 0;  // samples of a step
  double seconds = 0;
  config::Metric judged_by = {};
  std::optional<double> metric;
  SaveReason reason = SaveReason::regular;
  std::string ended_by = {};  // why the run had ended; empty: it had not
  config::Value stop = {};    // the numbers of its rule "stop" (train/rules/patience.h); null: it has none

  bool inside_epoch() const { return position > 0 || offset > 0; }
};
// Throws ddp::Error (usage) where its state.json is damaged.
Position position_of(const std::filesystem::path& checkpoint);

// A checkpoint with a value of a metric.
struct Ranked {
  std::filesystem::path folder;
  double value = 0;
  std::int64_t step = 0;
};

// Returns the checkpoints that have a value of this metric, best first; of equals, the newer first. Checkpoints that
// were saved because of the time do not count: when they are saved changes nothing.
std::vector<Ranked> by_metric(const std::vector<std::filesystem::path>& newest_first, const config::Metric& metric);

// The same, by the metric of the newest of these checkpoints.
std::vector<std::filesystem::path> by_metric(const std::vector<std::filesystem::path>& newest_first);

// The best of the complete checkpoints that a run may go on from.
std::optional<Ranked> best_saved(const std::filesystem::path& checkpoints, const config::Metric& metric);

}  // namespace ddp::record
