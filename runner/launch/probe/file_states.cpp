#include "launch/probe/file_states.h"

#include <sys/stat.h>

#include "base/installation.h"
#include "config/check/files.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

using config::Value;

constexpr int kMostFiles = 1000;

// The state of files; a changed content changes it.
class FileStates {
 public:
  void add(const fs::path& path) {
    add_one(path);
    std::error_code error;
    if (!fs::is_directory(path, error)) return;
    fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, error);
    for (const fs::recursive_directory_iterator end; !error && entry != end && !too_many(); entry.increment(error)) {
      add_one(entry->path());
    }
  }

  bool too_many() const { return states_.size() > kMostFiles; }
  const Value& states() const { return states_; }

 private:
  void add_one(const fs::path& path) {
    struct stat s {};
    const bool there = stat(path.c_str(), &s) == 0;
    Value state = Value::array({path.string()});
    if (there) {
      state.insert(state.end(), {s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_ctim.tv_sec,
                                 s.st_ctim.tv_nsec});
    }
    states_.push_back(std::move(state));
  }

  Value states_ = Value::array();
};

}  // namespace

std::optional<Value> file_states(const config::Experiment& experiment, const std::vector<fs::path>& more) {
  const auto components = experiment.components();
  FileStates files;
  for (const auto& file : config::named_files(experiment, components)) files.add(file.path);
  for (const auto& file : config::default_files(experiment, components)) {
    for (const fs::path& place : default_places(file)) files.add(place);
  }
  for (const fs::path& file : more) files.add(file);
  if (files.too_many()) return {};
  return files.states();
}

}  // namespace ddp::launch
