#include "record/saves/checkpoint_index.h"

#include <algorithm>
#include <climits>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLargestComplete = 64;
// A run that trains may replace each checkpoint while it is read.
constexpr int kMostListings = 5;
constexpr std::string_view kStep = "step-";

// Returns the damage of one of a checkpoint's files; "" if the file matches state.json.
std::string damage_of_file(const fs::path& folder, const std::string& name, const nlohmann::json& digest) {
  if (!is_safe_name(name)) return "it names " + config::in_quotes(name) + ", which is not a plain file name";
  const auto bytes = static_cast<std::uint64_t>(config::count_member(digest, "bytes"));
  const std::string hash = config::text_member(digest, "xxh3");
  std::error_code missing;
  if (!fs::exists(folder / name, missing)) return name + " is missing";
  try {
    const std::uint64_t found = InputFile(folder / name).size();
    if (found != bytes) {
      return name + " is damaged: " + std::to_string(found) + " bytes, not " + std::to_string(bytes);
    }
    if (hash_hex_of(folder / name) != hash) {
      return name + " is damaged: its checksum differs from state.json";
    }
  } catch (const Error& error) {
    return name + " " + error.summary();
  }
  return "";
}

}  // namespace

const char* to_string(SaveReason reason) {
  switch (reason) {
    case SaveReason::regular:
      return "regular";
    case SaveReason::best:
      return "best";
    case SaveReason::time:
      return "time";
  }
  return "?";
}

SaveReason reason_member(const nlohmann::json& state) {
  if (!state.contains("reason")) return SaveReason::regular;
  const std::string text = config::text_member(state, "reason");
  for (const SaveReason reason : {SaveReason::best, SaveReason::time}) {
    if (text == to_string(reason)) return reason;
  }
  throw std::runtime_error(config::in_quotes(text) + " is not a reason to save");
}

config::Metric metric_member(const nlohmann::json& state) {
  const auto& metric = config::member(state, "metric");
  const std::string name = config::text_member(metric, "name");
  if (metric.contains("direction")) {
    return {.name = name, .direction = config::read_direction(config::text_member(metric, "direction"))};
  }
  return {.name = name, .direction = name == "val_accuracy" ? config::Direction::greater : config::Direction::less};
}

bool is_checkpoint_name(const std::string& name) {
  constexpr std::size_t kMostDigits = 18;  // of an int64_t
  const std::string digits = name.starts_with(kStep) ? name.substr(kStep.size()) : "";
  return !digits.empty() && digits.size() <= kMostDigits && digits.find_first_not_of("0123456789") == std::string::npos;
}

bool is_complete(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / kComplete, ignored) || !fs::exists(folder / "state.json", ignored)) return false;
  try {
    return read_text(folder / kComplete, kLargestComplete) == hash_hex_of(folder / "state.json") + "\n";
  } catch (const Error&) {
    return false;  // unreadable counts as missing
  }
}

std::string damage_of(const fs::path& folder) {
  if (!is_complete(folder)) return "it is not complete";
  try {
    const auto state = config::parse_json(read_text(folder / "state.json"));
    const auto& files = config::member(state, "files");
    if (!files.is_object()) return "state.json is damaged: \"files\" is not an object";
    for (const char* needed : {"model.safetensors", "optimizer.safetensors"}) {
      if (!files.contains(needed)) return std::string("state.json is damaged: it does not name ") + needed;
    }
    for (const auto& [name, digest] : files.items()) {
      if (std::string damage = damage_of_file(folder, name, digest); !damage.empty()) return damage;
    }
  } catch (const std::exception& error) {
    return std::string("state.json is damaged: ") + error.what();
  }
  return "";
}

std::vector<fs::path> checkpoint_folders(const fs::path& checkpoints) {
  std::vector<fs::path> list;
  std::error_code error;
  for (fs::directory_iterator entry(checkpoints, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const fs::path& path = entry->path();
    if (!is_checkpoint_name(path.filename().string()) || entry->is_symlink(ignored)) continue;
    if (entry->is_directory(ignored)) list.push_back(path);
  }
  // An unreadable folder is an error: taken for an empty one, it would make the run start over.
  if (error && error != std::errc::no_such_file_or_directory) {
    throw training_error("cannot be read: " + error.message(), checkpoints.string());
  }
  std::sort(list.begin(), list.end(), [](const fs::path& a, const fs::path& b) { return step_of(a) > step_of(b); });
  return list;
}

std::vector<fs::path> complete_checkpoints(const fs::path& checkpoints) {
  for (int listing = 1;; ++listing) {
    std::vector<fs::path> list = checkpoint_folders(checkpoints);
    std::error_code unreadable;
    const auto is_gone = [&](const fs::path& folder) { return !fs::exists(folder, unreadable) && !unreadable; };
    const bool whole = std::any_of(list.begin(), list.end(), is_complete);
    if (!whole && listing < kMostListings && std::any_of(list.begin(), list.end(), is_gone)) continue;
    std::erase_if(list, [](const fs::path& folder) { return !is_complete(folder); });
    return list;
  }
}

std::int64_t step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return is_checkpoint_name(name) ? std::stoll(name.substr(kStep.size())) : 0;
}

std::vector<fs::path> up_to_latest(const fs::path& checkpoints) {
  std::error_code no_link;
  const fs::path latest = checkpoints / "latest";
  const fs::path named = fs::read_symlink(latest, no_link);
  const std::vector<fs::path> all = checkpoint_folders(checkpoints);
  if (no_link && !is_complete(latest)) return all;
  // A tool that follows links has copied the checkpoint to `latest`.
  const std::int64_t last = no_link ? position_of(latest).step : step_of(named);
  std::vector<fs::path> list = all;
  std::erase_if(list, [&](const fs::path& folder) { return step_of(folder) > last; });
  // The link is not ours. Without this fallback the run would silently start over and lose its saves.
  if (list.empty() && !all.empty()) {
    if (no_link) return all;
    if (fs::read_symlink(latest, no_link) != named) return up_to_latest(checkpoints);
    log::warn(latest.string() + " names no checkpoint: " + config::in_quotes(named.string()));
    return all;
  }
  return list;
}

fs::path latest_checkpoint(const fs::path& checkpoints) {
  const auto list = up_to_latest(checkpoints);
  const auto found = std::find_if(list.begin(), list.end(), is_complete);
  return found == list.end() ? fs::path() : *found;
}

Position position_of(const fs::path& checkpoint) {
  const std::string text = read_text(checkpoint / "state.json");
  try {
    using config::count_member;
    const auto state = config::parse_json(text);
    const auto& metric = config::member(state, "metric");
    Position position{.step = count_member(state, "step"),
                      .epoch = count_member(state, "epoch"),
                      .position = count_member(state, "position"),
                      .offset = count_member(state, "offset"),
                      .world_size = static_cast<int>(count_member(state, "world_size", INT_MAX)),
                      .global_batch_size = count_member(state, "global_batch_size"),
                      .seconds = config::number_member(state, "seconds"),
                      .judged_by = metric_member(state),
                      .metric = {},
                      .reason = reason_member(state),
                      .ended_by = state.contains("ended_by") ? config::text_member(state, "ended_by") : ""};
    if (const auto rules = state.find("rules"); rules != state.end() && rules->is_object() && rules->contains("stop")) {
      position.stop = rules->at("stop");
    }
    if (!config::member(metric, "value").is_null()) position.metric = config::number_member(metric, "value");
    return position;
  } catch (const std::exception& error) {
    throw usage_error(std::string("is damaged: ") + error.what(), (checkpoint / "state.json").string());
  }
}

std::vector<Ranked> by_metric(const std::vector<fs::path>& newest_first, const config::Metric& metric) {
  std::vector<Ranked> ranked;
  for (const auto& folder : newest_first) {
    const Position position = position_of(folder);
    if (position.reason == SaveReason::time || position.judged_by.name != metric.name || !position.metric) continue;
    ranked.push_back({.folder = folder, .value = *position.metric, .step = position.step});
  }
  std::reverse(ranked.begin(), ranked.end());
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const Ranked& a, const Ranked& b) { return metric.is_better(a.value, b.value); });
  return ranked;
}

std::vector<fs::path> by_metric(const std::vector<fs::path>& newest_first) {
  std::vector<fs::path> best_first;
  if (newest_first.empty()) return best_first;
  for (const Ranked& one : by_metric(newest_first, position_of(newest_first.front()).judged_by)) {
    best_first.push_back(one.folder);
  }
  return best_first;
}

namespace {

// Returns the complete checkpoints from which the run may resume and that have a value of the metric, best first.
std::vector<Ranked> best_saved_first(const fs::path& checkpoints, const config::Metric& metric) {
  std::vector<fs::path> candidates = up_to_latest(checkpoints);
  std::erase_if(candidates, [](const fs::path& folder) { return !is_complete(folder); });
  return by_metric(candidates, metric);
}

// Returns the first whole checkpoint of a list, which is made again if one of its checkpoints was replaced meanwhile.
// Returns an empty path if none is complete; throws ddp::Error (usage) if the complete ones are damaged.
fs::path first_whole(const fs::path& checkpoints, const std::function<std::vector<fs::path>()>& list) {
  bool damaged = false;
  bool replaced = true;
  for (int listing = 0; replaced && listing < kMostListings; ++listing) {
    replaced = false;
    for (const auto& folder : list()) {
      const std::string damage = damage_of(folder);
      if (damage.empty()) return folder;
      std::error_code unreadable;
      replaced = !fs::exists(folder, unreadable) && !unreadable;
      if (replaced) break;
      log::warn(folder.string() + " is skipped: " + damage);
      damaged = damaged || is_complete(folder);
    }
  }
  // Without this error the run would silently start over and lose checkpoints that a person may still repair.
  if (damaged) throw usage_error("this run has no undamaged checkpoint", checkpoints.string());
  return {};
}

}  // namespace

std::optional<Ranked> best_saved(const fs::path& checkpoints, const config::Metric& metric) {
  const std::vector<Ranked> best_first = best_saved_first(checkpoints, metric);
  return best_first.empty() ? std::nullopt : std::optional(best_first.front());
}

fs::path newest_whole(const fs::path& checkpoints) {
  return first_whole(checkpoints, [&] { return up_to_latest(checkpoints); });
}

fs::path best_whole(const fs::path& checkpoints, const config::Metric& metric) {
  return first_whole(checkpoints, [&] {
    std::vector<fs::path> all;
    for (const Ranked& one : best_saved_first(checkpoints, metric)) all.push_back(one.folder);
    for (const fs::path& one : up_to_latest(checkpoints)) {
      if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
    }
    return all;
  });
}

void require_whole(const fs::path& checkpoint) {
  const std::string damage = damage_of(checkpoint);
  if (damage.empty()) return;
  const fs::path checkpoints = checkpoint.parent_path();
  const std::vector<fs::path> all = up_to_latest(checkpoints);
  const bool has_whole = std::any_of(all.begin(), all.end(), [](const auto& one) { return damage_of(one).empty(); });
  throw usage_error(damage, checkpoint.string(), has_whole ? "use the newest whole checkpoint: --from latest" : "");
}

}  // namespace ddp::record
