#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/state.h"

namespace ddp::checkpoint {

// One checkpoint, whole: tensors by name, on any device when saved, on the CPU when loaded.
struct Checkpoint {
  State state;
  NamedTensors model;      // Python's state_dict()
  NamedTensors optimizer;  // "state.<parameter>.<what>"
  NamedTensors buffers;    // "rank.<r>.<name>", where ranks keep buffers of their own
};

// The folder of a step's checkpoint: checkpoints/step-00000640.
std::filesystem::path folder_of(const std::filesystem::path& checkpoints, std::int64_t step);

// Writes a checkpoint so that it is there whole or not at all: into a temporary folder, each file fsynced,
// COMPLETE last, then renamed, then `latest` moved. One that is there for the step is replaced.
// Throws ddp::Error (training); what was there before stays. Returns the folder.
std::filesystem::path save(const std::filesystem::path& checkpoints, const Checkpoint& checkpoint);

// Reads a complete checkpoint and checks every file's size and checksum. Throws ddp::Error (training).
Checkpoint load(const std::filesystem::path& folder);

// Its state alone.
State load_state(const std::filesystem::path& folder);

// A run that went back to step `from`, and has saved step `kept` since, has given up the others that came after.
void give_up_after(const std::filesystem::path& checkpoints, std::int64_t from, std::int64_t kept);

// Removes every checkpoint but the newest keep_last and the best keep_best by their metric.
void retain(const std::filesystem::path& checkpoints, std::int64_t keep_last, std::int64_t keep_best);

}  // namespace ddp::checkpoint
