#include "launch/plan/start.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>

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

// Does the name end as Python's files of weights do?
bool is_like_weights(const std::string& name) {
  const std::string ending = fs::path(name).extension().string();
  const auto known = {".pt", ".pth", ".ckpt", ".bin", ".pkl", ".npz", ".h5"};
  return std::find(known.begin(), known.end(), ending) != known.end();
}

// Did torch.save write the file? It writes a zip archive, and before PyTorch 1.6 it wrote a pickle. A .safetensors file
// begins with the length of its header, whose bytes may be the same, and then with the header's brace.
bool is_of_torch_save(const fs::path& file) {
  char start[9] = {};
  std::ifstream(file, std::ios::binary).read(start, sizeof start);
  const std::string_view bytes(start, sizeof start);
  if (bytes.back() == '{') return false;
  return (bytes.starts_with("PK\x03\x04") && file.extension() != ".npz") || bytes.starts_with("\x80\x02");
}

// Does the file begin as a .safetensors file does: with the length of its header, and its brace? An unreadable file is
// left to its reader.
bool is_safetensors(const fs::path& file) {
  char start[9] = {};
  std::ifstream in(file, std::ios::binary);
  return !in || (in.read(start, sizeof start) && start[sizeof start - 1] == '{');
}

// Is it an archive of torch.export? Its members are in the directory at its end, under these names.
bool is_of_torch_export(const fs::path& file) {
  constexpr std::streamoff kMost = 1 << 20;
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream.tellg();
  if (size <= 0) return false;
  stream.seekg(std::max<std::streamoff>(0, size - kMost));
  const std::string end(std::istreambuf_iterator<char>(stream), {});
  return end.find("/models/model.json") != std::string::npos;
}

// Returns lines of Python that write as safetensors the weights of `file`, which the Python text `load` reads.
std::string lines_of_conversion(const fs::path& file, const std::string& load) {
  const fs::path written = fs::path(file).replace_extension(".safetensors");
  return "    import torch\n"
         "    from safetensors.torch import save_file\n"
         "    weights = " +
         load +
         "\n"
         "    save_file({name: t.detach().contiguous().clone() for name, t in weights.items()}, " +
         config::Value(written.string()).dump() + ")";
}

// The remedy for an archive of torch.export.
std::string conversion_of_export(const fs::path& file) {
  return "name the run that trained the model, or write its weights as safetensors in Python, and give that file:\n" +
         lines_of_conversion(file, "torch.export.load(" + config::Value(file.string()).dump() + ").state_dict");
}

// The remedy for a file of torch.save.
std::string conversion_of(const fs::path& file) {
  return "write it as safetensors in Python, and give that file:\n" +
         lines_of_conversion(file, "torch.load(" + config::Value(file.string()).dump() + ", map_location=\"cpu\")") +
         "\n  `weights` must be the state_dict; if the file holds more, take it from there: weights[\"state_dict\"]";
}

// Returns the run that the experiment names. All commands accept the same names.
record::RunDirectory run_named(const config::Loaded& loaded, const fs::path& results, const std::string& name) try {
  return record::RunDirectory::find(results, name);
} catch (const Error& error) {
  if (is_like_weights(name)) {
    throw loaded.error(kKey, "there is no such file, and no such run: " + config::in_quotes(name),
                       "a relative path starts at the current folder, or at the folder of the file that gives it");
  }
  throw loaded.error(kKey, error.summary() + " under " + error.where(), error.remedy());
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
  const bool is_absolute = fs::path(path).is_absolute();
  std::error_code unreadable;
  if (is_absolute ? !fs::exists(path, unreadable) : !is_like_weights(path)) return;
  config::Loaded found = loaded;
  find_weights(found, "");
  weights_of(found);
}

fs::path weights_of(const config::Loaded& loaded) {
  const fs::path file = loaded.experiment.init_from.path;
  std::error_code unreadable;
  if (file.empty()) return file;
  if (fs::is_regular_file(file, unreadable)) {
    if (is_safetensors(file)) return file;
    if (is_of_torch_export(file)) {
      throw loaded.error(kKey, "this is an archive of torch.export, which init_from does not read: " + file.string(),
                         conversion_of_export(file));
    }
    const bool is_known = is_of_torch_save(file);
    const std::string what =
        is_known ? "this is a file of torch.save, which is not read: " : "is no .safetensors file: ";
    const bool converts = is_known || is_like_weights(file.string());
    throw loaded.error(kKey, what + file.string(),
                       converts ? conversion_of(file) : "give a checkpoint, a run or a .safetensors file");
  }
  if (!fs::exists(file, unreadable)) {
    throw loaded.error(kKey, "there is no such file: " + file.string(),
                       "give a checkpoint, a run or a .safetensors file");
  }
  throw loaded.error(kKey, "has no weights: " + file.string(), "give a checkpoint, a run or a .safetensors file");
}

}  // namespace ddp::launch
