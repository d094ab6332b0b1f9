#pragma once

#include <filesystem>

namespace ddp::launch {

// Returns the folder that holds torch/ and nvidia/ of the LibTorch to load: DDP_LIBTORCH if it is set. Otherwise, for
// an installed program, the folder above it (site-packages if pip installed both), then the download of
// scripts/ddp-exp. Empty: the run path of libddp_rank.so decides. Throws ddp::Error (usage) if DDP_LIBTORCH holds no
// LibTorch, or if the folder holds another version than this program was built with.
std::filesystem::path libtorch_folder();

// The remedy if no LibTorch is found.
extern const char* const kLibTorchRemedy;

}  // namespace ddp::launch
