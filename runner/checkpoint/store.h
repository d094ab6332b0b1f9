#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "checkpoint/snapshot_bytes.h"
#include "checkpoint/state.h"

namespace ddp::checkpoint {

// The states that every checkpoint has; a checkpoint may have any number of others.
inline constexpr const char* kModel = "model";          // Python's state_dict()
inline constexpr const char* kOptimizer = "optimizer";  // "state.<parameter>.<what>"
// The averaged weights, if any: the name of their state, with the tensor names of kModel, and of their rule.
inline constexpr const char* kEma = "ema";
// The file with the preprocessing that was fitted on the training data, if any.
inline constexpr const char* kPreprocessing = "preprocessing.json";

// The tensors of one named state. `steady` tensors do not change until the optimizer's next step.
struct StateTensors {
  NamedTensors steady;
  NamedTensors changing;
};

// A loaded checkpoint: the tensors of each named state, on the CPU. The process that read the files has their pages,
// mapped into memory; others have copies.
struct Checkpoint {
  State state;
  std::map<std::string, NamedTensors> tensors;
  std::map<std::string, std::string> documents;  // texts, by file name

  // Returns the tensors of a state; empty if the checkpoint does not have the state.
  const NamedTensors& of(const std::string& name) const;
  // Returns the weights for evaluation and prediction: the averaged weights if the checkpoint has them and `raw` is
  // false, else the model's weights.
  const NamedTensors& weights(bool raw) const { return raw || of(kEma).empty() ? of(kModel) : of(kEma); }
};

// A copy of all contents of a checkpoint at one moment. Training continues while it is written.
struct Snapshot {
  State state;
  std::map<std::string, SnapshotBytes> bytes;    // by the names of the states
  std::map<std::string, std::string> documents;  // texts, by file name

  // Finishes the copies. Several threads may call it.
  void finish() {
    for (auto& [name, one] : bytes) one.finish();
  }
};

// The folder of a step's checkpoint: checkpoints/step-00000640.
std::filesystem::path folder_of(const std::filesystem::path& checkpoints, std::int64_t step);

// Writes a checkpoint atomically: writes the files to a temporary folder and fsyncs them; renames the folder; then
// moves the link `latest`. Replaces an existing checkpoint of the step. Calls `moved` repeatedly during the write.
// Returns the folder. Throws ddp::Error (training); an incomplete checkpoint is then removed and older ones remain.
std::filesystem::path save(
    const std::filesystem::path& checkpoints, const Snapshot& snapshot, const std::function<void()>& moved = [] {});

// Reads a complete checkpoint and checks every file's size and checksum. Throws ddp::Error (training).
Checkpoint load(const std::filesystem::path& folder);

}  // namespace ddp::checkpoint
