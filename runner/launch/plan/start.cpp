#include "launch/plan/start.h"

namespace ddp::launch {

std::filesystem::path weights_of(const config::Loaded& loaded) {
  const std::filesystem::path named = loaded.experiment.init_from;
  if (named.empty()) return {};
  std::error_code unreadable;
  const std::filesystem::path file =
      std::filesystem::is_directory(named, unreadable) ? named / "model.safetensors" : named;
  if (std::filesystem::is_regular_file(file, unreadable)) return file;
  throw loaded.error("init_from", "there are no weights: " + file.string(), "give a checkpoint or a .safetensors file");
}

}  // namespace ddp::launch
