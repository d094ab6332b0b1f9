#pragma once

#include <cstddef>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"

namespace ddp::record {

// The shortest part of an id that can name a run.
inline constexpr std::size_t kShortestPart = 4;

// Returns the folder of the run or sweep under the results folder whose id contains `named`; "name/part" searches one
// name only. A part has at least kShortestPart characters. Links such as `latest` do not count as ids. Returns nothing
// if no id matches. If several match, throws ddp::Error (usage) that lists them. Opens only the folders of matching
// runs.
std::optional<std::filesystem::path> folder_by_part(const std::filesystem::path& results, const std::string& named);

// Is it a folder `latest` beside the folder of the same run? A tool that follows links made it of the link.
bool is_copied_link(const std::filesystem::path& folder);

// The newest run or sweep of a name.
struct NewestRun {
  std::filesystem::path folder;
  std::time_t began = 0;
};
// Finds it by the summaries in the name's folder, for a name without a link `latest`; nothing if there is none.
std::optional<NewestRun> newest_inside(const std::filesystem::path& folder);

// Returns the folder of trial `number` ("007" or "7", "A-7" of a race) of the sweep in the folder `sweep`; nothing if
// the sweep has no such trial.
std::optional<std::filesystem::path> folder_of_trial(const std::filesystem::path& sweep, const std::string& number);

// Returns the error for an unknown name of a run. It names the nearest run, the runs that a name still has, or the
// names there are.
Error unknown_run(const std::filesystem::path& results, const std::string& named);

// "there is no folder /home/me/results", or "/home/me/results has no runs": why no run is found there.
std::string no_runs_in_words(const std::filesystem::path& results);

}  // namespace ddp::record
