#pragma once

#include <filesystem>

#include "config/load.h"

namespace ddp::launch {

// The source of a run's weights; both empty: its seed.
struct Start {
  std::filesystem::path resume_from;  // a complete checkpoint, to go on from
  std::filesystem::path init_from;    // a .safetensors file, for the weights alone
};

// The file that `init_from` names: itself, or the model of a checkpoint; empty: none. Throws ddp::Error (usage) where
// it is not there.
std::filesystem::path weights_of(const config::Loaded& loaded);

}  // namespace ddp::launch
