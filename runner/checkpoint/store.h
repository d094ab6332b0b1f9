#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "checkpoint/image.h"
#include "checkpoint/state.h"

namespace ddp::checkpoint {

// The states that every checkpoint has; a checkpoint keeps any number of others.
inline constexpr const char* kModel = "model";          // Python's state_dict()
inline constexpr const char* kOptimizer = "optimizer";  // "state.<parameter>.<what>"
// The state, and the rule, of an average of the weights, where there is one: under the names of kModel.
inline constexpr const char* kEma = "ema";
// The file with the result of the fit on the training data, where anything was fitted.
inline constexpr const char* kPreprocessing = "preprocessing.json";

// The tensors of one named state. `steady` ones stay as they are until the optimizer's next step.
struct StateTensors {
  NamedTensors steady;
  NamedTensors changing;
};

// One checkpoint, as loaded: the tensors of each named state, on the CPU.
struct Checkpoint {
  State state;
  std::map<std::string, NamedTensors> tensors;
  std::map<std::string, std::string> documents;  // texts, by file name

  // Returns those of a state; none where the checkpoint has no such state.
  const NamedTensors& of(const std::string& name) const;
  // Returns the weights to measure and predict with: the averaged ones where there are any and not `raw` is asked for,
  // else those of the model.
  const NamedTensors& weights(bool raw) const { return raw || of(kEma).empty() ? of(kModel) : of(kEma); }
};

// All that a checkpoint's files will hold, as it was at one moment: training goes on while it is written.
struct Snapshot {
  State state;
  std::map<std::string, SafetensorsImage> images;  // by the states' names
  std::map<std::string, std::string> documents;    // texts, by file name

  // Finishes the images. Several threads may call it.
  void finish() {
    for (auto& [name, image] : images) image.finish();
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
