#pragma once

#include <filesystem>
#include <vector>

#include "launch/plugin/sdk.h"
#include "launch/plugin/source_texts.h"

namespace ddp::launch {

// Compiles sources, side by side, and links them into plugin.so of the folder `made`. What the compiler prints goes to
// stderr as it is; warnings are no errors. Returns the headers beside the sources that they include. Throws ddp::Error
// (usage) where a file does not compile, and Stopped.
std::vector<HeaderPlace> compile(const Sdk& sdk, const std::filesystem::path& cache, const SourceTexts& texts,
                                 const std::filesystem::path& made);

}  // namespace ddp::launch
