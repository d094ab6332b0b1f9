#include "launch/plan/devices.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "launch/plan/plan.h"
#include "launch/process/child.h"

namespace ddp::launch {
namespace {

constexpr const char* kFolder = "/tmp/ddp-exp.devices";

// The few functions of the CUDA driver API that name devices. They are declared here, so the program builds and runs
// without CUDA (https://docs.nvidia.com/cuda/cuda-driver-api).
class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}

  // Returns the CUresult.
  int start() const {
    const auto init = function<int(unsigned)>("cuInit");
    return init == nullptr ? kNoDriverLibrary : init(0);
  }

  nlohmann::json devices() const {
    auto list = nlohmann::json::array();
    if (start() != 0) return list;
    for (int device = 0; device < number(); ++device) {
      list.push_back({{"name", text("cuDeviceGetName", device)},
                      {"pci", text("cuDeviceGetPCIBusId", device)},
                      {"uuid", uuid(device)}});
    }
    return list;
  }

  DriverFacts facts() const {
    DriverFacts facts{.exists = true, .error = start()};
    int cuda = 0;
    if (const auto get = function<int(int*)>("cuDriverGetVersion"); get != nullptr && get(&cuda) == 0) {
      facts.cuda = cuda;
    }
    if (facts.error != 0) return facts;
    const int count = number();
    facts.atomics = count > 1;
    for (int a = 0; a < count; ++a) {
      char memory[32];
      std::snprintf(memory, sizeof memory, ", %.1f GiB", static_cast<double>(bytes(a)) / (1 << 30));
      facts.gpus.push_back(text("cuDeviceGetName", a) + memory);
      for (int b = 0; b < a; ++b) {
        if (!reaches(a, b, kAccess)) facts.apart.push_back(std::to_string(b) + " and " + std::to_string(a));
        facts.atomics = facts.atomics && reaches(a, b, kNativeAtomics);
      }
    }
    return facts;
  }

 private:
  // CUdevice_P2PAttribute
  static constexpr int kAccess = 2;
  static constexpr int kNativeAtomics = 3;

  int number() const {
    const auto get = function<int(int*)>("cuDeviceGetCount");
    int count = 0;
    return get != nullptr && get(&count) == 0 ? count : 0;
  }

  std::size_t bytes(int device) const {
    const auto get = function<int(std::size_t*, int)>("cuDeviceTotalMem_v2");
    std::size_t bytes = 0;
    return get != nullptr && get(&bytes, device) == 0 ? bytes : 0;
  }

  bool reaches(int a, int b, int attribute) const {
    const auto get = function<int(int*, int, int, int)>("cuDeviceGetP2PAttribute");
    int value = 0;
    return get != nullptr && get(&value, attribute, a, b) == 0 && value != 0;
  }

  template <class Signature>
  Signature* function(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<Signature*>(dlsym(library_, name));
  }

  // Both take (char*, int length, CUdevice).
  std::string text(const char* name, int device) const {
    std::array<char, 256> value{};
    const auto get = function<int(char*, int, int)>(name);
    return get != nullptr && get(value.data(), value.size() - 1, device) == 0 ? value.data() : "";
  }

  std::string uuid(int device) const {
    std::array<unsigned char, 16> bytes{};
    const auto get = function<int(void*, int)>("cuDeviceGetUuid_v2");
    if (get == nullptr || get(bytes.data(), device) != 0) return "";
    std::string id = "GPU-";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
      id += digits;
      if (i == 3 || i == 5 || i == 7 || i == 9) id += '-';
    }
    return id;
  }

  void* library_;
};

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

Groups groups_of_pool(const config::Loaded& loaded, const std::vector<Gpu>& gpus) {
  const auto& e = loaded.experiment;
  const std::size_t per_rank = devices_per_rank(loaded);
  if (e.device_pool.is_array()) {
    Groups groups = listed(loaded, e.device_pool, per_rank);
    require_gpus(loaded, static_cast<std::size_t>(gpus_of_list(e.device_pool)), gpus);
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

bool has_nvidia_driver() {
  std::error_code ignored;
  return std::filesystem::exists("/dev/nvidiactl", ignored) || std::filesystem::exists("/dev/dxg", ignored);
}

std::vector<Gpu> visible_gpus() {
  std::vector<Gpu> gpus;
  if (!has_nvidia_driver()) return gpus;
  const std::string answer = ask_child("counting the GPUs", {}, [](int pipe) {
    const std::string json = Driver().devices().dump();
    write_all(pipe, json.data(), json.size(), "pipe");
  });
  for (const auto& gpu : nlohmann::json::parse(answer)) {
    gpus.push_back({.name = gpu.at("name"), .pci = gpu.at("pci"), .uuid = gpu.at("uuid")});
  }
  return gpus;
}

DriverFacts ask_driver() { return has_nvidia_driver() ? Driver().facts() : DriverFacts{}; }

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

std::int64_t gpus_of_list(const config::Value& pool) {
  std::int64_t gpus = 0;
  for (const config::Value& entry : pool) {
    if (entry.is_array()) gpus = std::max(gpus, gpus_of_list(entry));
    if (entry.is_number()) gpus = std::max(gpus, entry.get<std::int64_t>() + 1);
  }
  return gpus;
}

FileDescriptor lock_device(const std::string& uuid) {
  const std::filesystem::path file = std::filesystem::path(kFolder) / (is_safe_name(uuid) ? uuid : "unnamed");
  // Like /tmp itself: everybody may create files, and nobody may remove another user's.
  if (mkdir(kFolder, 0777) == 0) chmod(kFolder, 01777);
  constexpr int kHow = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  FileDescriptor lock(open(file.c_str(), kHow));
  // Only if it does not exist: in such a folder, O_CREAT may not open another user's file.
  if (!lock && errno == ENOENT) lock = FileDescriptor(open(file.c_str(), kHow | O_CREAT, 0444));
  if (!lock && errno == EACCES) lock = FileDescriptor(open(file.c_str(), kHow));
  if (!lock) throw training_error("cannot lock a GPU: " + errno_text(errno), file.string());
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return {};
}

std::vector<FileDescriptor> lock_devices(const Plan& plan) {
  std::vector<FileDescriptor> locks;
  for (const auto& group : plan.groups) {
    for (const auto& device : group) {
      if (device == "cpu") continue;
      FileDescriptor lock = lock_device(plan.gpus.at(std::stoul(device.substr(5))).uuid);
      if (lock) {
        locks.push_back(std::move(lock));
      } else {
        log::warn("another ddp-exp command uses " + device + ", too: both will be slower, or run out of its memory");
      }
    }
  }
  return locks;
}

}  // namespace ddp::launch
