#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/image.h"
#include "checkpoint/state.h"

namespace ddp::checkpoint {

// One checkpoint, as loaded: tensors by name, on the CPU.
struct Checkpoint {
  State state;
  NamedTensors model;      // Python's state_dict()
  NamedTensors optimizer;  // "state.<parameter>.<what>"
  NamedTensors buffers;    // "rank.<r>.<name>", where ranks keep buffers of their own
};

// All that a checkpoint's files will hold, as it was at one moment: training goes on while it is written.
struct Snapshot {
  State state;
  SafetensorsImage model;
  SafetensorsImage optimizer;
  SafetensorsImage buffers;
  bool own_buffers = false;  // ranks keep buffers of their own: there are `buffers`

  // Finishes the images. Several threads may call it.
  void finish() {
    model.finish();
    optimizer.finish();
    if (own_buffers) buffers.finish();
  }
};

// The folder of a step's checkpoint: checkpoints/step-00000640.
std::filesystem::path folder_of(const std::filesystem::path& checkpoints, std::int64_t step);

// Writes a checkpoint so that it is there whole or not at all: into a temporary folder, each file fsynced,
// COMPLETE last, then renamed, then `latest` moved. One that is there for the step is replaced.
// Throws ddp::Error (training); what was there before stays, and nothing of this one does. Returns the folder.
// `moved` is called now and then while it is written.
std::filesystem::path save(
    const std::filesystem::path& checkpoints, const Snapshot& snapshot, const std::function<void()>& moved = [] {});

// Reads a complete checkpoint and checks every file's size and checksum. Throws ddp::Error (training).
Checkpoint load(const std::filesystem::path& folder);

}  // namespace ddp::checkpoint
