#include "launch/plan/start.h"

#include <fstream>

#include "base/paths.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

constexpr const char* kKey = "init_from.path";
constexpr const char* kWeights = "model.safetensors";
constexpr const char* kAveraged = "ema.safetensors";

// If a run has averaged weights, they are its result.
fs::path weights_in(const fs::path& checkpoint) {
  std::error_code unreadable;
  return checkpoint / (fs::exists(checkpoint / kAveraged, unreadable) ? kAveraged : kWeights);
}

fs::path weights_of_run(const config::Loaded& loaded, const record::RunDirectory& run) {
  if (run.is_sweep()) {
    throw loaded.error(kKey, "this is a sweep, not a run: " + run.path().string(),
                       "name one of its trials: " + run.path().string() + "/007");
  }
  const fs::path checkpoint = record::latest_checkpoint(run.checkpoints());
  if (!checkpoint.empty()) return weights_in(paths::absolute(checkpoint));
  throw loaded.error(kKey, "this run has no checkpoint yet: " + run.path().string(), "name a run that has saved");
}

// The weights that a link leads to now. A link such as results/NAME/latest leads elsewhere once a new run has begun.
fs::path behind_links(const fs::path& file) {
  std::error_code missing;
  fs::path found = fs::canonical(file, missing);
  return missing ? file : found;
}

// Does the name end as Python's files of weights do? Then it names no run.
bool is_like_weights(const std::string& name) {
  const std::string ending = fs::path(name).extension().string();
  return ending == ".pt" || ending == ".pth" || ending == ".ckpt" || ending == ".bin" || ending == ".npz";
}

// Does the file begin as a .safetensors file does: with the length of its header, and its brace? An unreadable file is
// left to its reader.
bool is_safetensors(const fs::path& file) {
  char start[9] = {};
  std::ifstream in(file, std::ios::binary);
  return !in || (in.read(start, sizeof start) && start[sizeof start - 1] == '{');
}

// Returns the run that the experiment names. All commands accept the same names.
record::RunDirectory run_named(const config::Loaded& loaded, const fs::path& results, const std::string& name) try {
  return record::RunDirectory::find(results, name);
} catch (const Error& error) {
  throw loaded.error(kKey, "there is no such file, and " + error.summary() + " under " + error.where(), error.remedy());
}

}  // namespace

void find_weights(config::Loaded& loaded, const fs::path& results) {
  std::string& path = loaded.experiment.init_from.path;
  if (path.empty()) return;
  std::error_code unreadable;
  if (!fs::path(path).is_absolute()) {
    path = weights_of_run(loaded, run_named(loaded, results, path)).string();
  } else if (const record::RunDirectory run{fs::path(path)}; run.begun()) {
    path = weights_of_run(loaded, run).string();
  } else if (fs::is_directory(path, unreadable)) {
    path = weights_in(path).string();
  }
  path = behind_links(path).string();
}

void require_weights(const config::Loaded& loaded) {
  const std::string& path = loaded.experiment.init_from.path;
  std::error_code unreadable;
  if (fs::path(path).is_absolute() ? !fs::exists(path, unreadable) : !is_like_weights(path)) return;
  config::Loaded found = loaded;
  find_weights(found, "");
  weights_of(found);
}

fs::path weights_of(const config::Loaded& loaded) {
  const fs::path file = loaded.experiment.init_from.path;
  std::error_code unreadable;
  if (file.empty() || (fs::is_regular_file(file, unreadable) && is_safetensors(file))) return file;
  const std::string what = fs::is_regular_file(file, unreadable) ? "is no .safetensors file: "
                           : fs::exists(file, unreadable)        ? "has no weights: "
                                                                 : "there is no such file: ";
  throw loaded.error(kKey, what + file.string(), "give a checkpoint, a run or a .safetensors file");
}

}  // namespace ddp::launch
