#include "record/saves/model_files.h"

#include <algorithm>

#include "base/error.h"
#include "config/check/files.h"
#include "record/file/hash.h"

namespace ddp::record {
namespace fs = std::filesystem;

bool is_model_file(const DataFile& file) { return file.key.starts_with("model."); }

std::vector<DataFile> model_files(const config::Experiment& experiment) {
  std::vector<DataFile> files;
  for (const auto& named : config::named_files(experiment, experiment.components())) {
    DataFile file{.key = named.key, .path = named.path};
    std::error_code unreadable;
    if (!is_model_file(file) || !fs::is_regular_file(named.path, unreadable)) continue;
    try {
      file.hash = hash_hex_of(named.path);
    } catch (const Error&) {
      continue;  // the model's own error names it
    }
    file.bytes = static_cast<std::int64_t>(fs::file_size(named.path, unreadable));
    files.push_back(std::move(file));
  }
  return files;
}

DataDifference model_difference(const std::vector<DataFile>& then, const std::vector<DataFile>& now) {
  DataDifference difference;
  for (const DataFile& file : now) {
    const auto old = std::find_if(then.begin(), then.end(), [&](const DataFile& other) {
      return is_model_file(other) && other.key == file.key && other.hash != file.hash;
    });
    if (!is_model_file(file) || old == then.end()) continue;
    const std::string what = "has another content than when the checkpoint was trained";
    if (difference.path.empty()) {
      difference = {.path = file.path, .what = what};
    } else {
      difference.what += "\n  " + file.path + ": " + what;
    }
  }
  return difference;
}

void require_same_model(const fs::path& checkpoint, const std::vector<DataFile>& now, const std::string& command) {
  const DataDifference difference = model_difference(files_of_checkpoint(checkpoint), now);
  if (difference.path.empty()) return;
  throw usage_error(difference.what, difference.path, remedy_of_model(command));
}

std::string remedy_of_model(const std::string& command) {
  return "put the former file back, or use the graph of this one with the weights of the checkpoint: " + command;
}

}  // namespace ddp::record
