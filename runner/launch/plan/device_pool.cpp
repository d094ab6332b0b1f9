#include "launch/plan/device_pool.h"

#include <algorithm>

namespace ddp::launch {
namespace {

using Groups = std::vector<std::vector<std::string>>;
using config::Value;

constexpr std::size_t kMostRanks = 4096;

std::string count(std::size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string device_of(const Value& entry) {
  return entry.is_number() ? "cuda:" + std::to_string(entry.get<std::int64_t>()) : entry.get<std::string>();
}

// `ranks` groups of GPUs 0, 1, …, or of CPUs.
Groups numbered(std::size_t ranks, std::size_t per_rank, bool gpus) {
  Groups groups(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    for (std::size_t d = 0; d < per_rank; ++d) {
      groups[r].push_back(gpus ? "cuda:" + std::to_string(r * per_rank + d) : "cpu");
    }
  }
  return groups;
}

std::size_t devices_per_rank(const config::Loaded& loaded) {
  return static_cast<std::size_t>(loaded.experiment.devices_per_rank.value_or(1));
}

Groups listed(const config::Loaded& loaded, const Value& pool, std::size_t per_rank) {
  Groups groups;
  if (pool.front().is_array()) {
    for (const Value& entry : pool) {
      auto& group = groups.emplace_back();
      for (const Value& device : entry) group.push_back(device_of(device));
    }
    if (loaded.experiment.devices_per_rank && groups.front().size() != per_rank) {
      throw loaded.error("devices_per_rank", "device_pool has groups of " + std::to_string(groups.front().size()) +
                                                 ", devices_per_rank says " + std::to_string(per_rank));
    }
    return groups;
  }
  if (pool.size() % per_rank != 0) {
    throw loaded.error("device_pool", count(pool.size(), "device") + " cannot be divided into groups of " +
                                          std::to_string(per_rank) + " (devices_per_rank)");
  }
  for (std::size_t i = 0; i < pool.size(); i += per_rank) {
    auto& group = groups.emplace_back();
    for (std::size_t d = 0; d < per_rank; ++d) group.push_back(device_of(pool[i + d]));
  }
  return groups;
}

void require_gpus(const config::Loaded& loaded, std::size_t needed, const std::vector<Gpu>& gpus) {
  if (needed <= gpus.size()) return;
  throw loaded.error("device_pool",
                     "needs " + count(needed, "device") + ", this machine has " + std::to_string(gpus.size()),
                     gpus.empty() ? "no GPU is visible here; for CPU ranks write device_pool = [\"cpu\", \"cpu\"]"
                                  : "the GPUs here are 0 to " + std::to_string(gpus.size() - 1));
}

// A list names GPUs by index: the highest one must exist.
void require_listed(const config::Loaded& loaded, const Groups& groups, const std::vector<Gpu>& gpus) {
  std::size_t named = 0;
  std::size_t highest = 0;
  for (const auto& group : groups) {
    for (const auto& device : group) {
      if (device == "cpu") continue;
      ++named;
      highest = std::max<std::size_t>(highest, std::stoul(device.substr(5)) + 1);
    }
  }
  if (named > gpus.size()) require_gpus(loaded, named, gpus);
  if (highest > gpus.size()) {
    throw loaded.error(
        "device_pool",
        "there is no GPU " + std::to_string(highest - 1) + ": this machine has " + std::to_string(gpus.size()),
        "the GPUs here are 0 to " + std::to_string(gpus.size() - 1));
  }
}

Groups groups_of_pool(const config::Loaded& loaded, const std::vector<Gpu>& gpus) {
  const auto& e = loaded.experiment;
  const std::size_t per_rank = devices_per_rank(loaded);
  if (e.device_pool.is_array()) {
    Groups groups = listed(loaded, e.device_pool, per_rank);
    require_listed(loaded, groups, gpus);
    return groups;
  }
  if (e.device_pool.is_number()) {
    const auto ranks = e.device_pool.get<std::size_t>();
    if (ranks > kMostRanks) {
      throw loaded.error("device_pool", "is more ranks than one machine can run",
                         "give at most " + std::to_string(kMostRanks));
    }
    if (!gpus.empty()) require_gpus(loaded, ranks * per_rank, gpus);
    return numbered(ranks, per_rank, !gpus.empty());
  }
  const bool alone = loaded.strategy.one_process && !loaded.strategy.all_devices;
  if (gpus.empty()) return numbered(alone ? 1 : 2, per_rank, false);
  require_gpus(loaded, per_rank, gpus);
  return numbered(alone ? 1 : gpus.size() / per_rank, per_rank, true);
}

// One process gets all devices of the pool.
Groups all_in_one(const config::Loaded& loaded, const Groups& groups) {
  Groups one(1);
  for (const auto& group : groups) one[0].insert(one[0].end(), group.begin(), group.end());
  const auto& pool = loaded.experiment.device_pool;
  if (groups.size() > 1 && pool.is_array() && pool.front().is_array()) {
    throw loaded.error("device_pool",
                       loaded.experiment.parallel + " is one rank, and this is a pool of " +
                           count(groups.size(), "group") + ", one a rank",
                       "give one list of devices, or use parallel = \"ddp\"");
  }
  if (loaded.experiment.devices_per_rank && devices_per_rank(loaded) != one[0].size()) {
    throw loaded.error(
        "devices_per_rank",
        loaded.experiment.parallel + " is one rank with all " + count(one[0].size(), "device") + " of the pool",
        "leave devices_per_rank out; device_pool says how many devices it has");
  }
  return one;
}

// Checks --nproc-per-node against the pool.
Groups first_of(Groups groups, std::size_t ranks, const config::Loaded& loaded, const std::vector<Gpu>& gpus) {
  const auto& pool = loaded.experiment.device_pool;
  const std::size_t per_rank = devices_per_rank(loaded);
  if (pool.is_string() && gpus.empty()) return numbered(ranks, per_rank, false);
  if (ranks > groups.size() && pool.is_string()) require_gpus(loaded, ranks * per_rank, gpus);
  if (ranks > groups.size() || (pool.is_array() && ranks != groups.size())) {
    throw loaded.error("device_pool",
                       "has " + count(groups.size(), "rank") + ", the launcher starts " + std::to_string(ranks) +
                           " on a machine (--nproc-per-node, srun's tasks, or LOCAL_WORLD_SIZE)",
                       "use the same number, or --set device_pool=auto");
  }
  groups.resize(ranks);
  return groups;
}

}  // namespace

Groups device_groups(const config::Loaded& loaded, const std::vector<Gpu>& gpus, std::optional<int> ranks) {
  Groups groups = groups_of_pool(loaded, gpus);
  if (loaded.strategy.all_devices) {
    groups = all_in_one(loaded, groups);
    if (ranks.value_or(1) == 1) return groups;
  }
  if (ranks) groups = first_of(std::move(groups), static_cast<std::size_t>(*ranks), loaded, gpus);
  if (loaded.strategy.one_process && groups.size() > 1) {
    throw loaded.error(
        "parallel",
        loaded.experiment.parallel + " trains on one device, but device_pool gives " + count(groups.size(), "rank"),
        "use parallel = \"ddp\", or a device_pool of one entry");
  }
  return groups;
}

}  // namespace ddp::launch
