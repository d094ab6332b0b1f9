#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/data_description.h"
#include "config/experiment.h"
#include "config/option/value.h"

namespace ddp::record {

// The file beside the checkpoints with the data that a resume accepted.
inline constexpr const char* kAccepted = "accepted-data.json";

// The state of one file of a run's data or a graph, which shows a change of its content. If an option names a folder
// with more than 1000 files, the state is for all files of one folder.
struct DataFile {
  std::string key;  // the option that names the file, or its folder, or a glob: "dataset.path"
  std::string path;
  std::int64_t bytes = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970; of a folder, the latest; of an object without the next ones
  std::int64_t files = 0;     // number of files in a folder; 0: it is a file
  std::string hash = {};      // of a folder: of its files' names, sizes and times; of a graph: of its content
  std::string etag = {};      // of an object, whose path is a URL
  std::string version = {};   // of an object without an ETag

  bool operator==(const DataFile&) const = default;
  void fields(config::Fields& f);
};

// Returns the states of all files that the options of [dataset], [validation] dataset and [test] dataset name, and
// those of a model or a loss of `sources`, in the order of the options, and then the graphs. A glob stands for its
// current matches, a folder for its files. Leaves out files that do not exist, and files that the set-up downloaded: a
// checksum guards their content.
std::vector<DataFile> data_files(const config::Experiment& experiment);

// The member "data" of a state.json. Nothing: an older version wrote it.
struct DataMember {
  std::optional<std::vector<DataFile>> data = {};
  void fields(config::Fields& f) { f({.name = "data", .optional = true}, data); }
};

// Returns the files that the checkpoint's state.json records; none if an older version wrote it. Throws ddp::Error
// (usage) if the file is damaged.
std::vector<DataFile> files_of_checkpoint(const std::filesystem::path& checkpoint);

// The difference between a checkpoint's files and the current ones. Graphs are not compared.
struct DataDifference {
  std::string path;  // the first file that differs; empty: none does
  std::string what;  // the first file's difference; a line for each further file, up to 20 in all
};
DataDifference data_difference(const std::vector<DataFile>& then, const std::vector<DataFile>& now);

// Throws ddp::Error (usage) if these files differ from the files of the checkpoint, and from the files that accept_data
// noted for it. `set_keys`: options with a new value; their files are not compared.
void require_same_data(const std::filesystem::path& checkpoint, const std::vector<DataFile>& now,
                       const std::vector<std::string>& set_keys);

// Returns the rows of the data as the checkpoint's state.json tells them; nothing: an older version wrote it. Throws
// ddp::Error (usage) if the file is damaged.
std::optional<config::Rows> rows_of_checkpoint(const std::filesystem::path& checkpoint);

// Do the files of [dataset] differ from those of the checkpoint?
bool has_other_data(const std::filesystem::path& checkpoint, const config::Experiment& now);

// Throws ddp::Error (usage) unless `now` describes the rows of the checkpoint, of which some may be corrected, or
// `may_grow` and these rows and then others: the held-out ones could not be told from those of training.
void require_known_rows(const std::filesystem::path& checkpoint, const config::Rows& now, bool may_grow);

inline constexpr const char* kDecision = "decide";  // in preprocessing.json: what [decide] fitted
// Returns it; null: the checkpoint has none, because no validation came before it.
config::Value decision_of(const std::filesystem::path& checkpoint);
// Returns the values that were fitted to the data when the checkpoint was trained (its preprocessing.json); null if
// there are none. Throws ddp::Error (usage) if the file is damaged.
config::Value fitted_to_data(const std::filesystem::path& checkpoint);

// A run that resumes with other options of its data fits them again: `now` is its preprocessing. Throws ddp::Error
// (usage) if a class, a category, a column or a token then has another number than in the training of the checkpoint:
// the weights would take one for the other.
void require_trained_meanings(const std::filesystem::path& checkpoint, const config::Value& now);

// Notes in the run's checkpoints folder that the run resumes from this checkpoint with these files, if they differ from
// the checkpoint's files. A resume after a kill then accepts them until the run saves. Throws ddp::Error (training).
void accept_data(const std::filesystem::path& checkpoint, const std::vector<DataFile>& now);

// A file or folder of the data, in a form that shows whether machines read the same. It has no times: a copy is the
// same.
struct DataSample {
  std::string key;  // as in DataFile, like path, bytes and files
  std::string path;
  std::int64_t bytes = 0;
  // A hash of the file, or of 64 pieces of 64 KiB if it is larger; "": a folder, or one of more than 64 files, or it
  // cannot be read.
  std::string content = {};
  std::int64_t files = 0;

  void fields(config::Fields& f) {
    f({.name = "key"}, key);
    f({.name = "path"}, path);
    f({.name = "bytes"}, bytes);
    f({.name = "content"}, content);
    f({.name = "files", .optional = true}, files);
  }
};
std::vector<DataSample> content_samples(const std::vector<DataFile>& files);

// Returns one hash of such a list, without the folders of its files.
std::string hash_of_samples(const std::vector<DataSample>& samples);

// Describes the first difference of the second list, without regard to folders: "dataset.path: /data/t.csv has 96
// bytes, not 120". "": there is none.
std::string sample_difference(const std::vector<DataSample>& first, const std::vector<DataSample>& second);

// The remedy for a difference.
inline constexpr const char* kSameDataRemedy = "give all machines the same files: copy them, or use a shared folder";

}  // namespace ddp::record
