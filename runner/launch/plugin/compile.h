#pragma once

#include <filesystem>
#include <vector>

#include "launch/plugin/sdk.h"
#include "launch/plugin/source_texts.h"

namespace ddp::launch {

// Compiles sources concurrently, and links them into plugin.so in the folder `made`. The compiler's output goes to
// stderr unchanged; warnings are no errors. Returns the user's headers that the sources include. Throws ddp::Error
// (usage) if a file does not compile, and Stopped.
std::vector<HeaderPlace> compile(const Sdk& sdk, const std::filesystem::path& cache, const SourceTexts& texts,
                                 const std::filesystem::path& made);

}  // namespace ddp::launch
