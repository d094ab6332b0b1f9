#pragma once

#include <filesystem>

namespace ddp::launch {

// The folder that holds torch/ and nvidia/ of the LibTorch to load: DDP_LIBTORCH where it is set. For an installed
// program otherwise the folder above it, which is site-packages where pip installed both, else what scripts/ddp-exp
// fetched. Empty: the run path of libddp_rank.so says where. Throws ddp::Error (usage) where DDP_LIBTORCH holds no
// LibTorch, or the folder holds another version than this program was built with.
std::filesystem::path libtorch_folder();

// The remedy where no LibTorch is found.
extern const char* const kLibTorchRemedy;

}  // namespace ddp::launch
