#pragma once

#include <cstdint>
#include <filesystem>

namespace ddp::record {

// Takes from metrics.jsonl what came after a checkpoint, and a line that was not finished, so that a run that goes on
// from there has each step once: events after `step` go, and so do epoch lines of `epoch` and later. Throws ddp::Error
// (usage) where the file cannot be read.
void rewind_metrics(const std::filesystem::path& file, std::int64_t step, std::int64_t epoch);

}  // namespace ddp::record
