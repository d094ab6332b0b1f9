#include "record/checkpoint_index.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/atomic_file.h"
#include "record/hash.h"

namespace ddp::record {
namespace fs = std::filesystem;

std::string hash_hex_of(const fs::path& file) { return hash_hex(read_text(file)); }

bool is_complete(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_regular_file(folder / kComplete, ignored) || !fs::is_regular_file(folder / "state.json", ignored)) {
    return false;
  }
  return read_text(folder / kComplete) == hash_hex_of(folder / "state.json") + "\n";
}

std::vector<fs::path> complete_checkpoints(const fs::path& checkpoints) {
  std::vector<fs::path> list;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(checkpoints, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-") && !entry.is_symlink() && is_complete(entry.path())) list.push_back(entry.path());
  }
  std::sort(list.begin(), list.end(), [](const fs::path& a, const fs::path& b) { return step_of(a) > step_of(b); });
  return list;
}

std::int64_t step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.starts_with("step-") ? std::strtoll(name.c_str() + 5, nullptr, 10) : 0;
}

fs::path latest_checkpoint(const fs::path& checkpoints) {
  std::error_code no_link;
  const fs::path named = fs::read_symlink(checkpoints / "latest", no_link);
  for (const auto& folder : complete_checkpoints(checkpoints)) {
    if (no_link || step_of(folder) <= step_of(named)) return folder;
  }
  return {};
}

Position position_of(const fs::path& checkpoint) {
  const auto state = nlohmann::json::parse(read_text(checkpoint / "state.json"), nullptr, false);
  try {
    return {.step = state.at("step").get<std::int64_t>(),
            .epoch = state.at("epoch").get<std::int64_t>(),
            .world_size = state.at("world_size").get<int>()};
  } catch (const std::exception& error) {
    throw usage_error(std::string("is damaged: ") + error.what(), (checkpoint / "state.json").string());
  }
}

fs::path best_checkpoint(const std::vector<fs::path>& checkpoints) {
  fs::path best;
  double best_value = 0;
  for (const auto& folder : checkpoints) {
    const auto state = nlohmann::json::parse(read_text(folder / "state.json"), nullptr, false);
    const auto metric = state.is_object() ? state.value("metric", nlohmann::json::object()) : nlohmann::json();
    if (!metric.is_object() || !metric.value("value", nlohmann::json()).is_number()) continue;
    const double sign = greater_is_better(metric.value("name", "")) ? -1 : 1;
    const double value = sign * metric["value"].get<double>();
    if (!best.empty() && value >= best_value) continue;
    best = folder;
    best_value = value;
  }
  return best;
}

bool greater_is_better(const std::string& metric) { return metric == "val_accuracy"; }

}  // namespace ddp::record
