#include "checkpoint/store.h"

#include <cstdio>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "record/atomic_file.h"
#include "record/checkpoint_index.h"
#include "record/hash.h"

namespace ddp::checkpoint {
namespace fs = std::filesystem;
namespace {

// COMPLETE goes first: what a kill leaves of the rest is never taken for a checkpoint.
void remove_checkpoint(const fs::path& folder) {
  std::error_code error;
  fs::remove(folder / record::kComplete, error);
  if (!error) fs::remove_all(folder, error);
  if (error) log::warn("an old checkpoint stays: " + folder.string() + ": " + error.message());
}

}  // namespace

fs::path folder_of(const fs::path& checkpoints, std::int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%08lld", static_cast<long long>(step));
  return checkpoints / name;
}

fs::path save(const fs::path& checkpoints, const Checkpoint& checkpoint) {
  const fs::path folder = folder_of(checkpoints, checkpoint.state.step);
  const fs::path temporary = checkpoints / ("." + folder.filename().string() + ".tmp");
  std::error_code error;
  fs::remove_all(temporary, error);
  if (!fs::create_directories(temporary, error)) {
    throw training_error("cannot make the folder: " + error.message(), temporary.string());
  }
  State state = checkpoint.state;
  state.files["model.safetensors"] = write_safetensors(temporary / "model.safetensors", checkpoint.model);
  state.files["optimizer.safetensors"] = write_safetensors(temporary / "optimizer.safetensors", checkpoint.optimizer);
  if (!checkpoint.buffers.empty()) {
    state.files["buffers.safetensors"] = write_safetensors(temporary / "buffers.safetensors", checkpoint.buffers);
  }
  record::write_atomically(temporary / "state.json", to_text(state));
  record::write_atomically(temporary / record::kComplete, record::hash_hex_of(temporary / "state.json") + "\n");
  record::sync_folder(temporary);
  if (fs::exists(folder)) remove_checkpoint(folder);
  fs::rename(temporary, folder, error);
  if (error) throw training_error("cannot put the checkpoint in place: " + error.message(), folder.string());
  record::sync_folder(checkpoints);
  record::link_atomically(checkpoints / "latest", folder.filename().string());
  return folder;
}

State load_state(const fs::path& folder) {
  if (!record::is_complete(folder)) throw training_error("this checkpoint is not complete", folder.string());
  return parse_state(record::read_text(folder / "state.json"), (folder / "state.json").string());
}

Checkpoint load(const fs::path& folder) {
  Checkpoint checkpoint{.state = load_state(folder), .model = {}, .optimizer = {}, .buffers = {}};
  for (const auto& [name, expected] : checkpoint.state.files) {
    if (fs::path(name).filename() != name) throw training_error("names a file outside of it", folder.string());
    if (digest(folder / name) != expected) {
      throw training_error("is damaged: its size or checksum is not what state.json says", (folder / name).string());
    }
  }
  checkpoint.model = read_safetensors(folder / "model.safetensors");
  checkpoint.optimizer = read_safetensors(folder / "optimizer.safetensors");
  if (checkpoint.state.files.contains("buffers.safetensors")) {
    checkpoint.buffers = read_safetensors(folder / "buffers.safetensors");
  }
  return checkpoint;
}

void give_up_after(const fs::path& checkpoints, std::int64_t from, std::int64_t kept) {
  for (const auto& folder : record::complete_checkpoints(checkpoints)) {
    const std::int64_t step = record::step_of(folder);
    if (step > from && step != kept) remove_checkpoint(folder);
  }
}

void retain(const fs::path& checkpoints, std::int64_t keep_last, std::int64_t keep_best) {
  const std::vector<fs::path> newest_first = record::complete_checkpoints(checkpoints);
  const std::vector<fs::path> best_first = record::by_metric(newest_first);
  std::set<fs::path> kept;
  for (std::size_t i = 0; i < newest_first.size() && i < std::size_t(keep_last); ++i) kept.insert(newest_first[i]);
  for (std::size_t i = 0; i < best_first.size() && i < std::size_t(keep_best); ++i) kept.insert(best_first[i]);
  for (const auto& folder : newest_first) {
    if (!kept.contains(folder)) remove_checkpoint(folder);
  }
}

}  // namespace ddp::checkpoint
