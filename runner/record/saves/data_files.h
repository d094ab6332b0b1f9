#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/experiment.h"
#include "config/value.h"

namespace ddp::record {

// The state of one file of a run's data, by which a change of its content shows; or of all files of one folder, where
// an option names a folder with more than kFilesByName of them in it.
struct DataFile {
  std::string key;  // the option that names the file, or its folder, or a glob: "dataset.path"
  std::string path;
  std::int64_t bytes = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970; of a folder the latest
  std::int64_t files = 0;     // of a folder; 0: it is a file
  std::string hash = {};      // of a folder: of the names, sizes and times of its files

  bool operator==(const DataFile&) const = default;
};

// Beyond, state.json would take minutes to write: of a million images it keeps a line a folder.
inline constexpr std::size_t kFilesByName = 1000;

// Returns the states of all files that the options of [dataset], [validation] dataset and [test] dataset name, in the
// order of the options: those that a glob matches now, and those in a folder. Files that do not exist are left out, and
// files that the set-up fetched: a checksum says what they hold.
std::vector<DataFile> data_files(const config::Experiment& experiment);

// The member "data" of a state.json: {"key", "path", "bytes", "modified"} for each file, of a folder also {"files",
// "hash"}.
config::Value to_value(const std::vector<DataFile>& files);
// The reverse. Nothing where there is no such member: an older version wrote the checkpoint. Throws std::runtime_error
// where it is damaged.
std::optional<std::vector<DataFile>> data_member(const nlohmann::json& state);

// The difference between the files of then and now.
struct DataDifference {
  std::string path;  // of the first file that differs; empty: none does
  std::string what;  // of that file; a line for each further one, up to 20
};
DataDifference data_difference(const std::vector<DataFile>& then, const std::vector<DataFile>& now);

// Throws ddp::Error (usage) where these files are not those that a checkpoint was trained on, nor those that
// accept_data has noted for it. `set_keys`: options that were given anew; the files that they name are not compared.
// `command`: takes the changed data, for the remedy.
void require_same_data(const std::filesystem::path& checkpoint, const std::vector<DataFile>& now,
                       const std::vector<std::string>& set_keys, const std::string& command);

// Returns what was fitted to the data when a checkpoint was trained (its preprocessing.json); null: nothing was. Throws
// ddp::Error (usage) where it is damaged.
config::Value fitted_to_data(const std::filesystem::path& checkpoint);

// Notes in the folder of a run's checkpoints that it goes on from this one with these files, where they are not those
// of the checkpoint: until the run saves, a resume after a kill takes them as they are. Throws ddp::Error (training).
void accept_data(const std::filesystem::path& checkpoint, const std::vector<DataFile>& now);

}  // namespace ddp::record
