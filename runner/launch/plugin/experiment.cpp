#include "launch/plugin/experiment.h"

#include "base/error.h"
#include "config/check/files.h"
#include "launch/plugin/plugin.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

config::Components components_of(const fs::path& file, const std::vector<std::string>& sets) {
  std::vector<fs::path> sources;
  for (const config::NamedSource& source : config::named_sources(file, sets)) {
    std::error_code unreadable;
    if (!fs::is_regular_file(source.path, unreadable)) {
      throw usage_error(
          "there is no such file: " + config::printable(source.path) + "\n" + config::excerpt(source.place),
          config::where(source.place), config::start_of_paths(config::where(source.place)));
    }
    if (fs::path(source.path).extension() == ".py") {
      throw usage_error(
          "a file of Python cannot be compiled: " + config::printable(source.path) + "\n" +
              config::excerpt(source.place),
          config::where(source.place),
          "sources are C++ files; a model in Python is exported: python/export_model.py writes a .pt2 file");
    }
    sources.emplace_back(source.path);
  }
  return components_with(sources);
}

}  // namespace

config::Loaded load_experiment(const fs::path& file, const std::vector<std::string>& sets) {
  return config::load(file, sets, components_of(file, sets));
}

config::LoadedSweep load_sweep(const fs::path& file, const std::vector<std::string>& sets) {
  return config::load_sweep(file, sets, components_of(file, sets));
}

}  // namespace ddp::launch
