#pragma once

#include <filesystem>

#include "config/load.h"

namespace ddp::launch {

// The source of a run's weights; both empty: its seed.
struct Start {
  std::filesystem::path resume_from;  // a complete checkpoint, to go on from
  std::filesystem::path init_from;    // a .safetensors file, for the weights alone
};

// Puts the file of weights in place of what init_from.path names: a checkpoint, or a run under the results root, by its
// folder or its name, which stands for its latest checkpoint. Throws ddp::Error (usage) where there is none.
void find_weights(config::Loaded& loaded, const std::filesystem::path& results);

// The file that find_weights found, or that the experiment names itself; empty: none. Throws ddp::Error (usage) where
// it is not there.
std::filesystem::path weights_of(const config::Loaded& loaded);

}  // namespace ddp::launch
