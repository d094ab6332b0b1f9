#pragma once

#include <cstdint>
#include <filesystem>

namespace ddp::record {

// Which checkpoints stay, and how the others go. None of these throws because something cannot be removed: it stays,
// with a warning. What a kill leaves half-removed has lost its name before.

// What is being made or removed has this ending; nobody takes it for a checkpoint.
inline constexpr const char* kUnfinished = ".tmp";

void remove_checkpoint(const std::filesystem::path& folder);

// Removes what was being made or removed when a process was killed.
void remove_unfinished(const std::filesystem::path& checkpoints);

// A run that went back to step `from`, and has saved step `kept` since, has given up the others that came after.
void give_up_after(const std::filesystem::path& checkpoints, std::int64_t from, std::int64_t kept);

// Of those up to `latest`, removes every complete checkpoint but these: the newest one, the newest keep_last regular
// ones, the best keep_best by their metric, and the newest one that was saved because of the time. Throws ddp::Error
// where one cannot be read.
void retain(const std::filesystem::path& checkpoints, std::int64_t keep_last, std::int64_t keep_best);

}  // namespace ddp::record
