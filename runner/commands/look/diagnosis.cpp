#include "commands/look/diagnosis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ostream>
#include <sstream>
#include <string_view>

#include "base/installation.h"
#include "base/paths.h"
#include "config/text/source.h"
#include "launch/library/libtorch.h"
#include "report/text/words.h"

namespace ddp::commands {
namespace {

using launch::Machine;
using report::bytes_in_words;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr auto kUnlimited = std::numeric_limits<std::int64_t>::max();

// Thresholds: below the first something is slow, below the second it is broken.
struct Least {
  std::int64_t comfortable = 0;
  std::int64_t possible = 0;

  const char* state(std::int64_t value) const {
    return value < possible ? "broken" : value < comfortable ? "slow" : "good";
  }
};

// A rank takes about 100 MB besides its data.
constexpr Least kMemory{.comfortable = kGiB, .possible = 256 * kMiB};
constexpr Least kSpace{.comfortable = 2 * kGiB, .possible = 100 * kMiB};
// NVIDIA's manual of NCCL asks for 1 GB.
constexpr Least kShm{.comfortable = kGiB - kGiB / 10, .possible = 1};
constexpr Least kFiles{.comfortable = 256, .possible = 32};
constexpr Least kTasks{.comfortable = 256, .possible = 32};
constexpr double kSlowLoading = 1;        // seconds
constexpr double kSlowLookUp = 1;         // seconds
constexpr double kSlowFsync = 0.05;       // seconds
constexpr double kSlowWriting = 20e6;     // bytes per second
constexpr std::int64_t kSlowLink = 1000;  // Mbit/s

class Page {
 public:
  void group(const char* name) { group_ = name; }
  void add(const char* state, const char* name, const std::string& text, const std::string& advice = "",
           std::optional<double> value = {}) {
    const bool judged = std::string_view(state) == "slow" || std::string_view(state) == "broken";
    all_.push_back({.group = group_,
                    .name = name,
                    .state = state,
                    .text = config::printable(text),
                    .advice = judged ? config::printable(advice) : "",
                    .value = value});
  }
  void fact(const char* name, const std::string& text, std::optional<double> value = {}) {
    add("fact", name, text, "", value);
  }
  std::vector<Finding> take() { return std::move(all_); }

 private:
  const char* group_ = "";
  std::vector<Finding> all_;
};

std::string within_patience() { return " within " + report::in_words(launch::kMachinePatience) + " s"; }

void judge_library(const launch::Answered<launch::LibraryFacts>& library, Page& page) {
  const std::string advice = "Put it on a disk of this machine. The next start reads it from memory.";
  const std::string version = launch::kLibTorchVersion;
  if (library.late) return page.add("slow", "LibTorch", version + ", not loaded" + within_patience(), advice);
  if (!library.error.empty()) {
    return page.add("broken", "LibTorch", library.error, library.remedy.empty() ? how_to_mend() : library.remedy);
  }
  const double seconds = library.facts.seconds;
  page.add(seconds > kSlowLoading ? "slow" : "good", "LibTorch", version + ", loaded in " + report::duration(seconds),
           advice, seconds);
}

void judge_program(const Machine& m, Page& page) {
  page.group("program");
  page.fact("ddp-exp", m.build);
  judge_library(m.library, page);
  page.fact("system", m.kernel + ", glibc " + m.glibc);
  const bool compiles = m.compiler.error.empty() && !m.compiler.late;
  page.fact("compiler", compiles ? m.compiler.facts.version : "none: files named by `sources` cannot be compiled");
}

// Says what keeps cores from this process.
std::string limits_in_words(const Cores& cores) {
  std::vector<std::string> limits;
  if (cores.allowed < cores.online) limits.push_back("the affinity allows " + std::to_string(cores.allowed));
  if (cores.quota < cores.online) limits.push_back("the control group's quota is " + report::in_words(cores.quota));
  return limits.empty() ? "" : ": " + report::joined(limits, ", ");
}

void judge_cores(const Machine& m, Page& page) {
  page.group("cores");
  page.add(m.cpu_capability == "default" ? "slow" : "good", "CPU",
           (m.cpu.empty() ? "" : m.cpu + ", ") + "LibTorch uses " + m.cpu_capability,
           "Without AVX2 LibTorch is slow. Unset ATEN_CPU_CAPABILITY if it is set, or take another CPU.");
  const bool of_quota = m.cores.quota < m.cores.allowed;
  page.add(m.usable_cores < m.cores.online ? "slow" : "good", "cores",
           std::to_string(m.usable_cores) + " of " + std::to_string(m.cores.online) + limits_in_words(m.cores),
           of_quota ? "More: docker --cpus, limits.cpu in Kubernetes, cpu.max of the group."
                    : "More: taskset, docker --cpuset-cpus, --cpus-per-task of Slurm.",
           m.usable_cores);
  const bool fewer = m.threads < m.usable_cores;
  page.add(fewer ? "slow" : "fact", "threads",
           report::counted(m.threads, "thread") + (fewer ? " for each rank, by OMP_NUM_THREADS" : " for a rank alone"),
           "Unset OMP_NUM_THREADS, or set `threads` in the experiment file.", m.threads);
  page.add(m.load >= m.cores.online ? "slow" : "good", "load",
           report::in_words(m.load) + " processes wanted a core in the last minute",
           "A run shares the cores with them; `top` shows them.", m.load);
}

std::string limit_in_words(std::int64_t limit) { return limit == kUnlimited ? "none" : std::to_string(limit); }

void judge_limits(const Machine& m, Page& page) {
  page.add(kFiles.state(m.files), "files", "limit of open files: " + limit_in_words(m.files),
           "Raise it: ulimit -n 1024.", static_cast<double>(m.files));
  const std::int64_t tasks = std::min(m.user_tasks, m.tasks.left);
  const bool of_group = m.tasks.left < m.user_tasks;
  page.add(kTasks.state(tasks), "processes",
           "limit of processes and threads: " + limit_in_words(m.user_tasks) + " of this user" +
               (m.tasks.limit == kUnlimited ? ""
                                            : "; " + std::to_string(m.tasks.left) + " of " +
                                                  std::to_string(m.tasks.limit) + " of the control group are left"),
           of_group ? "Raise it: docker --pids-limit, pids.max of the group." : "Raise it: ulimit -u.",
           static_cast<double>(tasks));
}

void judge_memory(const Machine& m, Page& page) {
  page.group("memory");
  const bool of_group = m.memory.group < m.memory.machine;
  page.add(kMemory.state(m.memory.available), "memory",
           bytes_in_words(m.memory.available) + " of " + bytes_in_words(m.memory.machine) + " available" +
               (of_group ? "; the control group may use " + bytes_in_words(m.memory.group) : ""),
           of_group ? "End other programs of the group, or raise its limit: docker --memory, --mem of Slurm."
                    : "End other programs.",
           static_cast<double>(m.memory.available));
  // The ranks' own shared memory has no file.
  const bool needed = m.gpus.facts.gpus.size() > 1;
  const std::int64_t free = m.shm_free.value_or(0);
  page.add(needed ? kShm.state(free) : "fact", "/dev/shm",
           (m.shm_free ? bytes_in_words(free) + " free" : "does not exist") +
               std::string(needed ? "; NCCL needs it between GPUs" : "; only NCCL would need it, between GPUs"),
           "Give more: docker --shm-size=1g, or mount a larger tmpfs.", static_cast<double>(free));
  judge_limits(m, page);
}

std::string cuda_in_words(std::int64_t version) {
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Why there is no GPU, if so.
bool judge_absence(const launch::Answered<launch::DriverFacts>& gpus, Page& page) {
  constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE
  const launch::DriverFacts& driver = gpus.facts;
  if (gpus.late) {
    page.add("slow", "GPUs", "the driver gave no answer" + within_patience(),
             "Turn persistence mode on (nvidia-smi -pm 1). If nvidia-smi hangs, restart the machine.");
  } else if (!gpus.error.empty()) {
    page.add("broken", "GPUs", gpus.error, "See what nvidia-smi says.");
  } else if (!driver.exists) {
    page.fact("GPUs", "no NVIDIA driver: ranks train on the CPU");
  } else if (driver.error == launch::kNoDriverLibrary) {
    page.add("broken", "GPUs", "libcuda.so.1 cannot be loaded",
             "Install the driver's library; docker --gpus all brings it into a container.");
  } else if (driver.error == kNoDevice) {
    page.add("slow", "GPUs", "the driver shows none: ranks train on the CPU",
             "Look at CUDA_VISIBLE_DEVICES, and at what the job or container was given.");
  } else if (driver.error != 0) {
    page.add("broken", "GPUs", "CUDA does not start: error " + std::to_string(driver.error),
             "See what nvidia-smi says. After an update of the driver the machine must be restarted.");
  }
  return driver.gpus.empty();
}

void judge_links(const launch::DriverFacts& driver, Page& page) {
  if (driver.gpus.size() < 2) return;
  if (driver.apart.empty()) {
    return page.add("good", "links",
                    "all GPUs reach each other's memory" +
                        std::string(driver.atomics ? ", with atomic operations as over NVLink" : ", over PCIe"));
  }
  constexpr std::size_t kMost = 4;
  std::vector<std::string> pairs(
      driver.apart.begin(), driver.apart.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, driver.apart.size())));
  page.add(
      "slow", "links",
      "GPUs " + report::joined(pairs) +
          (driver.apart.size() > kMost ? " and " + report::counted(driver.apart.size() - kMost, "more pair") : "") +
          " do not reach each other's memory",
      "Train on GPUs with a direct link (device_pool), or turn off ACS and the IOMMU: data pass through the host.");
}

void judge_gpus(const Machine& m, Page& page) {
  page.group("GPUs");
  const launch::DriverFacts& driver = m.gpus.facts;
  if (judge_absence(m.gpus, page)) return;
  for (std::size_t i = 0; i < driver.gpus.size(); ++i) {
    page.fact(("GPU " + std::to_string(i)).c_str(), driver.gpus[i]);
  }
  const launch::LibraryFacts& library = m.library.facts;
  page.add(driver.cuda / 1000 < library.cuda / 1000 ? "broken" : "good", "driver",
           (m.gpu_driver.empty() ? "" : m.gpu_driver + ", ") + "runs up to " + cuda_in_words(driver.cuda) +
               (library.cuda > 0 ? "; LibTorch has " + cuda_in_words(library.cuda) : ""),
           "Install a driver for " + cuda_in_words(library.cuda) + " or later.");
  if (!library.gpu_error.empty()) {
    page.add("broken", "NCCL", library.gpu_error, how_to_mend(/*gpus=*/true));
  } else if (library.nccl > 0) {
    const std::int64_t version = library.nccl;
    page.add("good", "NCCL",
             std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
                 std::to_string(version % 100));
  }
  judge_links(driver, page);
}

// Returns whether NCCL_SOCKET_IFNAME takes one of the interfaces: beginnings of names, "=" before whole names, "^"
// before those to leave out (NVIDIA's manual of NCCL, environment variables).
bool takes_one(std::string_view names, const std::vector<launch::Interface>& interfaces) {
  const bool excludes = names.starts_with('^');
  if (excludes) names.remove_prefix(1);
  const bool whole = names.starts_with('=');
  if (whole) names.remove_prefix(1);
  const auto is_named = [&](const std::string& interface) {
    std::istringstream list{std::string(names)};
    for (std::string name; std::getline(list, name, ',');) {
      name = name.substr(0, name.find(':'));
      if (whole ? interface == name : interface.starts_with(name)) return true;
    }
    return false;
  };
  return (!excludes && is_named("lo")) || std::any_of(interfaces.begin(), interfaces.end(), [&](const auto& interface) {
           return is_named(interface.name) != excludes;
         });
}

void judge_interfaces(const Machine& m, Page& page) {
  if (m.interfaces.empty()) return page.fact("network", "only loopback: no run over several machines");
  std::vector<std::string> all;
  for (const launch::Interface& i : m.interfaces) {
    all.push_back(i.address + " on " + i.name + (i.megabits > 0 ? " (" + std::to_string(i.megabits) + " Mbit/s)" : ""));
  }
  const std::int64_t speed = m.interfaces.front().megabits;
  page.add(speed > 0 && speed < kSlowLink ? "slow" : "fact", "network", report::joined(all),
           "Ranks of several machines wait for it: look at cable and switch, or take another interface.");
  if (!m.gloo_names.empty()) {
    page.fact("Gloo", "GLOO_SOCKET_IFNAME=" + m.gloo_names + " has no effect: the route to node 0 decides");
  }
  if (m.nccl_names.empty()) return;
  const bool taken = takes_one(m.nccl_names, m.interfaces);
  page.add(taken || m.gpus.facts.gpus.empty() ? "fact" : "broken", "NCCL",
           "NCCL_SOCKET_IFNAME=" + m.nccl_names + (taken ? "" : " names no interface of this machine"),
           "Unset it, or name one of those above.");
}

void judge_network(const Machine& m, Page& page) {
  page.group("network");
  judge_interfaces(m, page);
  const launch::HostFacts& name = m.host_name.facts;
  const std::string is = m.host + (name.addresses.empty() ? "" : " is " + report::joined(name.addresses));
  const std::string advice = "Add a line \"ADDRESS " + m.host + "\" to /etc/hosts: programs look this name up.";
  if (m.host_name.late || name.seconds > kSlowLookUp) {
    page.add("slow", "host", is + ", not looked up" + within_patience(), advice);
  } else if (name.addresses.empty()) {
    page.add("slow", "host", "the name " + is + " is unknown here", advice);
  } else if (!name.is_own) {
    page.add("slow", "host", is + ", of another machine",
             "Give --master-addr an address of this machine, or correct /etc/hosts or the name server.");
  } else {
    page.add("good", "host", is);
  }
  page.group("Slurm");
  const char* programs = m.sbatch.empty() && m.srun.empty() ? "neither sbatch nor srun is there"
                         : m.sbatch.empty()                 ? "srun is there, sbatch is not"
                         : m.srun.empty()                   ? "sbatch is there, srun is not"
                                                            : "sbatch and srun are there";
  const std::string nodes = m.slurm_nodes.empty() ? "" : ", nodes: " + m.slurm_nodes;
  page.fact("Slurm", (m.slurm_job.empty() ? "no job" : "job " + m.slurm_job + nodes) + "; " + programs);
}

bool is_of_network(std::string_view type) {
  constexpr std::array kTypes{"nfs", "nfs4",   "cifs",   "smb3", "lustre",         "gpfs",       "ceph",    "fuse.ceph",
                              "afs", "beegfs", "wekafs", "9p",   "fuse.glusterfs", "fuse.sshfs", "orangefs"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

std::string folder_in_words(const Machine& m) {
  const launch::FolderFacts& f = m.folder.facts;
  const bool exists = f.folder == paths::absolute(m.results).string();
  const std::string where = exists ? m.results.string() : m.results.string() + ", not made yet; " + f.folder;
  return where + (f.type.empty() ? "" : " on " + f.type) +
         (is_of_network(f.type) ? ": a run's lock holds on this machine only; others see changes some seconds later"
          : f.type == "tmpfs"   ? ": its files are gone when the machine restarts"
                                : "");
}

void judge_disk(const launch::Answered<launch::DiskSpeed>& disk, Page& page) {
  const std::string advice = "Save less often (checkpoint.save_every_steps), or give a faster disk with --results.";
  if (disk.late) {
    return page.add("slow", "writing", "a few MB are not on the disk" + within_patience(), advice);
  }
  if (!disk.error.empty()) return page.add("broken", "writing", disk.error, advice);
  const launch::DiskSpeed& speed = disk.facts;
  page.add(speed.bytes_per_second < kSlowWriting ? "slow" : "good", "writing",
           bytes_in_words(static_cast<std::int64_t>(speed.bytes_per_second)) + "/s to the disk", advice,
           speed.bytes_per_second);
  page.add(speed.fsync_seconds > kSlowFsync ? "slow" : "good", "fsync",
           report::duration(speed.fsync_seconds) + " until a page is on the disk", advice, speed.fsync_seconds);
}

void judge_results(const Machine& m, Page& page) {
  page.group("results");
  const std::string another = "Name another folder with --results.";
  if (m.folder.late) {
    return page.add("broken", "results", m.results.string() + " gave no answer" + within_patience(),
                    "Its file system hangs. findmnt names its server; or name another folder with --results.");
  }
  if (!m.folder.error.empty()) return page.add("broken", "results", m.folder.error, another);
  const launch::FolderFacts& folder = m.folder.facts;
  if (!folder.not_written.empty()) {
    return page.add("broken", "results", folder_in_words(m) + ", " + folder.not_written, another);
  }
  page.fact("results", folder_in_words(m));
  page.add(kSpace.state(folder.free), "space", bytes_in_words(folder.free) + " free",
           "Remove old runs, keep fewer checkpoints (checkpoint.keep_last), or name another folder with --results.",
           static_cast<double>(folder.free));
  judge_disk(m.disk, page);
}

const char* colour_of_state(std::string_view state) {
  return state == "good" ? "32" : state == "slow" ? "33" : state == "broken" ? "31" : "";
}

std::int64_t count_of(const std::vector<Finding>& findings, std::string_view state) {
  return std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.state == state; });
}

}  // namespace

std::vector<Finding> judge(const Machine& machine) {
  Page page;
  judge_program(machine, page);
  judge_cores(machine, page);
  judge_memory(machine, page);
  judge_gpus(machine, page);
  judge_network(machine, page);
  judge_results(machine, page);
  return page.take();
}

bool any_broken(const std::vector<Finding>& findings) { return count_of(findings, "broken") > 0; }

void print_findings(const std::vector<Finding>& findings, std::ostream& out, const report::Terminal& terminal) {
  constexpr std::size_t kName = 8;
  constexpr std::size_t kText = 19;
  constexpr std::size_t kWidest = 120;  // longer lines are hard to read
  const std::size_t width = std::min(terminal.width, kWidest);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& f = findings[i];
    if (i > 0 && f.group != findings[i - 1].group) out << "\n";
    const std::string mark = f.state == "fact" ? "" : f.state;
    const char* colour = terminal.colour ? colour_of_state(f.state) : "";
    out << (*colour ? std::string("\x1b[") + colour + "m" + mark + "\x1b[0m" : mark)
        << std::string(kName - mark.size(), ' ') << f.name
        << std::string(kText - kName - std::min(kText - kName - 1, f.name.size()), ' ')
        << report::wrapped(f.text, kText, width);
    if (!f.advice.empty()) out << std::string(kText, ' ') << report::wrapped(f.advice, kText, width);
  }
  const std::int64_t broken = count_of(findings, "broken");
  const std::int64_t slow = count_of(findings, "slow");
  out << "\n" << (broken + slow == 0 ? "nothing is slow or broken" : "");
  if (broken + slow > 0) out << slow << " slow, " << broken << " broken";
  out << "\n";
}

}  // namespace ddp::commands
