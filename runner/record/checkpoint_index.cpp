#include "record/checkpoint_index.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/atomic_file.h"
#include "record/hash.h"

namespace ddp::record {
namespace fs = std::filesystem;

bool is_complete(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_regular_file(folder / kComplete, ignored) || !fs::is_regular_file(folder / "state.json", ignored)) {
    return false;
  }
  return read_text(folder / kComplete) == hash_hex_of(folder / "state.json") + "\n";
}

std::string damage_of(const fs::path& folder) {
  if (!is_complete(folder)) return "it is not complete";
  const auto state = nlohmann::json::parse(read_text(folder / "state.json"), nullptr, false);
  try {
    for (const auto& [name, digest] : state.at("files").items()) {
      if (fs::path(name).filename() != name) return "it names a file outside of it";
      std::error_code missing;
      const auto bytes = fs::file_size(folder / name, missing);
      if (missing) return name + " is missing";
      if (bytes != digest.at("bytes").get<std::uintmax_t>()) {
        return name + " is damaged: " + std::to_string(bytes) + " bytes, not " + digest.at("bytes").dump();
      }
      if (hash_hex_of(folder / name) != digest.at("xxh3").get<std::string>()) {
        return name + " is damaged: its checksum is not what state.json says";
      }
    }
  } catch (const std::exception& error) {
    return std::string("state.json is damaged: ") + error.what();
  }
  return "";
}

std::vector<fs::path> checkpoint_folders(const fs::path& checkpoints) {
  std::vector<fs::path> list;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(checkpoints, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-") && !entry.is_symlink() && entry.is_directory(ignored)) list.push_back(entry.path());
  }
  std::sort(list.begin(), list.end(), [](const fs::path& a, const fs::path& b) { return step_of(a) > step_of(b); });
  return list;
}

std::vector<fs::path> complete_checkpoints(const fs::path& checkpoints) {
  std::vector<fs::path> list = checkpoint_folders(checkpoints);
  std::erase_if(list, [](const fs::path& folder) { return !is_complete(folder); });
  return list;
}

std::int64_t step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.starts_with("step-") ? std::strtoll(name.c_str() + 5, nullptr, 10) : 0;
}

std::vector<fs::path> up_to_latest(const fs::path& checkpoints) {
  std::error_code no_link;
  const fs::path named = fs::read_symlink(checkpoints / "latest", no_link);
  std::vector<fs::path> list = checkpoint_folders(checkpoints);
  if (!no_link) std::erase_if(list, [&](const fs::path& folder) { return step_of(folder) > step_of(named); });
  return list;
}

fs::path latest_checkpoint(const fs::path& checkpoints) {
  const auto list = up_to_latest(checkpoints);
  const auto found = std::find_if(list.begin(), list.end(), is_complete);
  return found == list.end() ? fs::path() : *found;
}

Position position_of(const fs::path& checkpoint) {
  const auto state = nlohmann::json::parse(read_text(checkpoint / "state.json"), nullptr, false);
  try {
    const auto& metric = state.at("metric");
    Position position{.step = state.at("step").get<std::int64_t>(),
                      .epoch = state.at("epoch").get<std::int64_t>(),
                      .position = state.at("position").get<std::int64_t>(),
                      .world_size = state.at("world_size").get<int>(),
                      .seconds = state.at("seconds").get<double>(),
                      .metric_name = metric.at("name").get<std::string>(),
                      .metric = {}};
    if (metric.at("value").is_number()) position.metric = metric.at("value").get<double>();
    return position;
  } catch (const std::exception& error) {
    throw usage_error(std::string("is damaged: ") + error.what(), (checkpoint / "state.json").string());
  }
}

std::vector<fs::path> by_metric(const std::vector<fs::path>& newest_first) {
  std::vector<std::pair<double, fs::path>> ranked;
  std::string name;
  for (const auto& folder : newest_first) {
    const Position position = position_of(folder);
    if (name.empty()) name = position.metric_name;
    if (position.metric_name != name || !position.metric) continue;
    ranked.emplace_back(greater_is_better(name) ? -*position.metric : *position.metric, folder);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<fs::path> best_first;
  for (const auto& [value, folder] : ranked) best_first.push_back(folder);
  return best_first;
}

bool greater_is_better(const std::string& metric) { return metric == "val_accuracy"; }

}  // namespace ddp::record
