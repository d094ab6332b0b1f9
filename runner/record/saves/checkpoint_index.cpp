#include "record/saves/checkpoint_index.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "record/file/atomic_file.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLargestComplete = 64;
// A run that trains may replace each checkpoint while it is read.
constexpr int kMostListings = 5;
constexpr std::string_view kStep = "step-";

// The member "files" of a state.json.
struct FilesMember {
  std::map<std::string, Digest> files = {};
  void fields(config::Fields& f) { f({.name = "files"}, files); }
};

// Returns the damage of one of a checkpoint's files; "" if the file matches state.json.
std::string damage_of_file(const fs::path& folder, const std::string& name, const Digest& digest,
                           const HashOf& hash_of) {
  if (!is_safe_name(name)) return "it names " + config::in_quotes(name) + ", which is not a plain file name";
  std::error_code missing;
  if (!fs::exists(folder / name, missing)) return name + " is missing";
  try {
    const std::uint64_t found = InputFile(folder / name).size();
    if (found != digest.bytes) {
      return name + " is damaged: " + std::to_string(found) + " bytes, not " + std::to_string(digest.bytes);
    }
    if (hash_of(folder / name) != digest.hash) {
      return name + " is damaged: its checksum differs from state.json";
    }
  } catch (const Error& error) {
    return name + " " + error.summary();
  }
  return "";
}

}  // namespace

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

std::string damage_of(const fs::path& folder, const HashOf& hash_of) {
  if (!is_complete(folder)) return "it is not complete";
  try {
    const auto files = config::read_written<FilesMember>(config::parse_value(read_text(folder / "state.json"))).files;
    for (const char* needed : {"model.safetensors", "optimizer.safetensors"}) {
      if (!files.contains(needed)) return std::string("state.json is damaged: it does not name ") + needed;
    }
    for (const auto& [name, digest] : files) {
      if (std::string damage = damage_of_file(folder, name, digest, hash_of); !damage.empty()) return damage;
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

void Position::fields(config::Fields& f) {
  Judgement judged;
  std::map<std::string, config::Value> rules;
  f({.name = "epoch"}, epoch);
  f({.name = "position"}, position);
  f({.name = "offset"}, offset);
  f({.name = "step"}, step);
  f({.name = "world_size"}, world_size);
  f({.name = "global_batch_size"}, global_batch_size);
  f({.name = "metric"}, judged);
  f({.name = "seconds"}, seconds);
  f({.name = "rules", .optional = true}, rules);
  f({.name = "ended_by", .optional = true}, ended_by);
  f({.name = "reason", .optional = true}, reason);
  f({.name = "validation_due", .optional = true}, validation_due);
  f({.name = "spacing", .optional = true}, spacing);
  judged_by = judged.by;
  if (!std::isnan(judged.value)) metric = judged.value;
  if (const auto rule = rules.find("stop"); rule != rules.end()) stop = rule->second;
}

Position position_of(const fs::path& checkpoint) { return read_kept<Position>(checkpoint / "state.json"); }

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
