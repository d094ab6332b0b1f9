#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace ddp::launch {

extern const char* const kVersion;  // the project's version, from CMakeLists.txt
inline constexpr const char* kLibTorchVersion = "2.11.0";

// Identifies the build: "0.1.0+1a2b3c4d5e6f", with a hash of all sources; and the compiler's version, because it also
// affects the bits.
std::string build_id();

// Returns the folder that holds torch/ and nvidia/ of the LibTorch to load: DDP_LIBTORCH if it is set. Otherwise, for
// an installed program, the folder above it (site-packages if pip installed both), then the download of
// scripts/ddp-exp. Empty: the run path of libddp_rank.so decides. Throws ddp::Error (usage) if DDP_LIBTORCH holds no
// LibTorch, or if the folder holds another version than this program was built with.
std::filesystem::path libtorch_folder();

// The remedy if no LibTorch is found.
extern const char* const kLibTorchRemedy;

// Makes sure that this machine has the optional libraries that an experiment's components name
// (base/optional_library.h), and everything they need. In a checkout scripts/ddp-exp fetches and builds missing ones,
// which takes about a minute once; its output goes to stderr. Throws ddp::Error (usage) if that fails, or if an
// installed program lacks a library.
void obtain(const std::set<std::string>& libraries);

}  // namespace ddp::launch
