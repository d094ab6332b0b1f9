#pragma once

#include <cstdint>
#include <filesystem>

namespace ddp::record {

// Cuts metrics.jsonl back to a checkpoint, so that a resumed run has each step once. Removes events after `step`, epoch
// lines of `epoch` and later, and an unfinished last line. Throws ddp::Error (usage) if the file cannot be read.
void rewind_metrics(const std::filesystem::path& file, std::int64_t step, std::int64_t epoch);

}  // namespace ddp::record
