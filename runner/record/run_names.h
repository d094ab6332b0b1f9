#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace ddp::record {

// A shorter part of an id names no run.
inline constexpr std::size_t kShortestPart = 4;

// Returns the folder of the run or sweep under the results root whose id contains `named`; "name/part" searches one
// name only. A part has at least kShortestPart characters. Links such as `latest` do not count as ids. Returns nothing
// where no id matches. Throws ddp::Error (usage) where several match, and lists them. Opens only the folders of
// matching runs.
std::optional<std::filesystem::path> folder_by_part(const std::filesystem::path& results, const std::string& named);

// Returns the folder of trial `number` ("007" or "7") of the sweep in the folder `sweep`; nothing where the sweep has
// no such trial.
std::optional<std::filesystem::path> folder_of_trial(const std::filesystem::path& sweep, const std::string& number);

// Returns a remedy for a name that no run has: the nearest names that exist, or the ways to name a run.
std::string remedy_for_unknown_run(const std::filesystem::path& results, const std::string& named);

}  // namespace ddp::record
