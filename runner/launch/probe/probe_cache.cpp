#include "launch/probe/probe_cache.h"

#include <sys/resource.h>
#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/installation.h"
#include "base/paths.h"
#include "launch/library/version.h"
#include "launch/probe/file_states.h"
#include "record/file/atomic_file.h"
#include "record/file/hash.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

using config::Value;

constexpr std::size_t kMostEntries = 200;
constexpr std::uint64_t kMostBytes = 1 << 20;  // of an entry

std::uint64_t memory_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

std::string text_of(const Value& value) { return value.dump(-1, ' ', false, Value::error_handler_t::replace); }

// Without HOME the cache folder is a relative path, and nothing may be kept in the working folder.
fs::path entry_of(const std::string& key) {
  const fs::path cache = cache_folder();
  return key.empty() || cache.is_relative() ? fs::path() : cache / "probes" / key;
}

void remove_oldest(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> entries;
  for (const fs::path& entry : paths::entries(folder)) {
    std::error_code gone;
    entries.emplace_back(fs::last_write_time(entry, gone), entry);
  }
  if (entries.size() <= kMostEntries) return;
  std::sort(entries.begin(), entries.end());
  for (std::size_t i = 0; i < entries.size() - kMostEntries; ++i) {
    std::error_code gone;
    fs::remove(entries[i].second, gone);
  }
}

}  // namespace

std::string probe_key(const Plan& plan, const Start& start) {
  std::vector<fs::path> origins;
  for (const fs::path& origin : {start.resume_from, start.init_from}) {
    if (!origin.empty()) origins.push_back(origin);
  }
  const auto states = file_states(plan.experiment, origins);
  if (!states) return "";
  Value experiment = config::write(plan.experiment);
  experiment.erase("name");
  return record::hash_hex(
      text_of({build_id(), plan.experiment.components().plugin().hash, experiment, plan.groups.front(),
               plan.world_size(), start.resume_from.string(), start.init_from.string(), *states, memory_limit()}));
}

std::optional<Value> find_reply(const std::string& key) try {
  const fs::path entry = entry_of(key);
  if (entry.empty()) return {};
  const std::string text = record::read_text(entry, kMostBytes);
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || record::hash_hex(text.substr(end + 1)) != text.substr(0, end)) return {};
  const Value value = Value::parse(text.substr(end + 1), nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return {};
  return value;
} catch (const Error&) {
  return {};
}

void keep_reply(const std::string& key, const Value& reply) try {
  const fs::path entry = entry_of(key);
  if (entry.empty()) return;
  const std::string text = text_of(reply);
  paths::make_folders(entry.parent_path());
  record::write_atomically(entry, record::hash_hex(text) + "\n" + text);
  remove_oldest(entry.parent_path());
} catch (const Error&) {
  return;
}

std::optional<rank::Probe> find_probe(const std::string& key) try {
  const auto reply = find_reply(key);
  if (!reply) return {};
  return config::read<rank::Probe>(*reply);
} catch (const Error&) {
  return {};
}

void keep_probe(const std::string& key, const rank::Probe& probe) { keep_reply(key, config::write(probe)); }

}  // namespace ddp::launch
