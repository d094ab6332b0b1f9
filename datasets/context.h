#pragma once

#include <cstdint>
#include <filesystem>

namespace ddp::datasets {

// A dataset trains, or measures during training, or measures once at the end. Augmentation belongs to training alone.
enum class Role { train, validation, test };

// The facts about a run that a dataset is built with. Paths in its options are absolute already.
struct Context {
  Role role = Role::train;
  // A folder that all ranks of this machine see, for files that a dataset prepares once; empty: there is none.
  std::filesystem::path folder = {};
  int rank = 0;
  int world_size = 1;
  std::uint64_t seed = 0;  // of the run: random augmentation and sampling draw from Draws with it
};

}  // namespace ddp::datasets
