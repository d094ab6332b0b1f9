#include "checkpoint/store.h"

#include <cstdio>
#include <system_error>

#include "base/error.h"
#include "format/safetensors.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/retention.h"

namespace ddp::checkpoint {
namespace fs = std::filesystem;
namespace {

constexpr const char* kEnding = ".safetensors";

// The temporary folder of a checkpoint before it gets its name. Removed with its contents unless it was renamed,
// because a full disk needs the space.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(fs::path path) : path_(std::move(path)) {
    std::error_code error;
    fs::remove_all(path_, error);
    if (!fs::create_directories(path_, error)) {
      throw training_error("cannot make the folder: " + error.message(), path_.string());
    }
  }
  ~UnfinishedFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  const fs::path path_;
};

}  // namespace

fs::path folder_of(const fs::path& checkpoints, std::int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%08lld", static_cast<long long>(step));
  return checkpoints / name;
}

fs::path save(const fs::path& checkpoints, const Snapshot& snapshot, const std::function<void()>& moved) {
  const fs::path folder = folder_of(checkpoints, snapshot.state.step);
  const UnfinishedFolder unfinished(checkpoints / ("." + folder.filename().string() + record::kUnfinished));
  State state = snapshot.state;
  // A resumed run may have fewer states than the checkpoint that it resumed from.
  state.files.clear();
  for (const auto& [name, bytes] : snapshot.bytes) {
    state.files[name + kEnding] = bytes.write(unfinished.path() / (name + kEnding), moved);
  }
  for (const auto& [name, text] : snapshot.documents) {
    record::write_file(unfinished.path() / name, text);
    state.files[name] = {.bytes = text.size(), .hash = record::hash_hex(text)};
  }
  // Not among the files of state.json: a fork puts its own name there.
  if (!state.settings.empty()) record::write_file(unfinished.path() / record::kSettings, state.settings);
  const std::string text = to_text(state);
  record::write_file(unfinished.path() / "state.json", text);
  record::write_file(unfinished.path() / record::kComplete, record::hash_hex(text) + "\n");
  record::sync_files(unfinished.path());
  std::error_code error;
  if (fs::exists(folder, error)) record::remove_checkpoint(folder);
  fs::rename(unfinished.path(), folder, error);
  if (error) throw training_error("cannot put the checkpoint in place: " + error.message(), folder.string());
  record::link_atomically(checkpoints / "latest", folder.filename().string());
  // Sync before older checkpoints are removed: after a power failure, the link must not point to a removed one.
  record::sync_folder(checkpoints);
  return folder;
}

Checkpoint load(const fs::path& folder) {
  std::map<std::string, format::MappedFile> mapped;
  const auto hash_of = [&](const fs::path& file) {
    // c10d's broadcast writes to the tensors of the rank that sends them too.
    const auto& [memory, bytes] = mapped[file.filename()] =
        format::map_file(record::InputFile(file), file, /*writable=*/true);
    return record::hash_hex(bytes.data(), bytes.size());
  };
  if (const std::string damage = record::damage_of(folder, hash_of); !damage.empty()) {
    throw training_error(damage, folder.string());
  }
  const fs::path state = folder / "state.json";
  Checkpoint checkpoint{.state = parse_state(record::read_text(state), state.string()), .tensors = {}, .documents = {}};
  for (const auto& [file, bytes] : mapped) {
    const fs::path name = file;
    if (name.extension() == kEnding) {
      checkpoint.tensors[name.stem().string()] = format::safetensors_in(bytes, folder / name);
    } else {
      checkpoint.documents[file] = bytes.bytes;
    }
  }
  return checkpoint;
}

const NamedTensors& Checkpoint::of(const std::string& name) const {
  static const NamedTensors kNone;
  const auto found = tensors.find(name);
  return found == tensors.end() ? kNone : found->second;
}

}  // namespace ddp::checkpoint
