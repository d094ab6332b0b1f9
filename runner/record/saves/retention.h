#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::record {

// Selects the checkpoints to keep and removes the others. None of these functions throws if a removal fails: the
// checkpoint stays, with a warning. A checkpoint loses its name before its removal begins, so a kill leaves no damaged
// one.

// The ending of a folder that is being written or removed; it does not count as a checkpoint.
inline constexpr const char* kUnfinished = ".tmp";

void remove_checkpoint(const std::filesystem::path& folder);

// Removes folders, and files in checkpoints, whose writing or removal a kill interrupted.
void remove_unfinished(const std::filesystem::path& checkpoints);

// After a run went back to step `from` and saved step `kept`: removes the other checkpoints after `from`.
void give_up_after(const std::filesystem::path& checkpoints, std::int64_t from, std::int64_t kept);

// Removes complete checkpoints up to `latest`, except the newest one, the newest keep_last regular ones, the best
// keep_best by their metric, and the newest one that was saved because of the time. Without `keep_last` those on the
// ladder stay, in place of regular and timed ones. Throws ddp::Error if one cannot be read.
void retain(const std::filesystem::path& checkpoints, std::optional<std::int64_t> keep_last, std::int64_t keep_best);

// Returns the steps that the ladder keeps: the newest one, and, of those whose distance from it is in
// [spacing * 2^k, spacing * 2^(k + 1)), the oldest and the newest, for each k. A range in which a run has saved then
// never becomes empty: a removed step lies between two kept ones that are nearer to each other than the length of its
// range, and the range, which contains it, is too long to fit between them.
std::set<std::int64_t> on_ladder(const std::vector<std::int64_t>& newest_first, std::int64_t spacing);

// Copies a complete checkpoint into the checkpoints of another run, as its latest. The copy shares the bytes on disk
// with the source if the file system can do that. The copy is checked as a load would check it, and appears whole or
// not at all. Returns the copy's folder. Throws ddp::Error (usage) if the copy fails.
std::filesystem::path copy_checkpoint(const std::filesystem::path& checkpoint,
                                      const std::filesystem::path& checkpoints);

// Makes the checkpoint the latest one, also for a resume after a kill before the next save, and cuts metrics.jsonl back
// to its position. Removes evaluation.json, which is of the end of a run. An empty `checkpoint`: the run starts over.
// `finished`: all steps were done, so an epoch that they cut short has ended too.
void rewind(const RunDirectory& directory, const std::filesystem::path& checkpoint, const Position& position,
            bool finished);

}  // namespace ddp::record
