#pragma once

#include <filesystem>
#include <string>

namespace ddp::record {

// Names the first thing of the trained state in which two complete checkpoints differ: a tensor
// ("model.safetensors: 0.weight"), or a member of state.json. "": both have the same bits. Times, the number of ranks
// and the reason of the save are no part of the state. Throws ddp::Error if a file cannot be read.
std::string first_other_bits(const std::filesystem::path& checkpoint, const std::filesystem::path& other);

}  // namespace ddp::record
