#include "commands/look/diagnosis.h"

#include <algorithm>
#include <array>
#include <limits>
#include <ostream>
#include <string_view>

#include "base/installation.h"
#include "config/text/source.h"
#include "launch/library/libtorch.h"
#include "report/text/words.h"

namespace ddp::commands {
namespace {

using report::bytes_in_words;

constexpr const char* kAnother = "name another folder with --results";
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
// A run of two ranks needs 16.
constexpr Least kFiles{.comfortable = 256, .possible = 16};
constexpr Least kTasks{.comfortable = 256, .possible = 32};
constexpr double kSlowLoading = 1;  // seconds

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

template <class Facts>
std::string remedy_of(const Answered<Facts>& answered, const std::string& otherwise) {
  return answered.remedy.empty() ? otherwise : answered.remedy;
}

std::string within_patience() { return " within " + report::in_words(kMachinePatience) + " s"; }

void judge_library(const Answered<LibraryFacts>& library, Page& page) {
  const std::string advice = "put it on a disk of this machine; the next start reads it from memory";
  const std::string version = launch::kLibTorchVersion;
  if (library.late) return page.add("slow", "LibTorch", version + ", not loaded" + within_patience(), advice);
  if (!library.error.empty()) {
    return page.add("broken", "LibTorch", library.error, remedy_of(library, how_to_mend()));
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
  page.fact("compiler", m.programs.compiler.empty() ? "none: " + m.programs.compiler_error : m.programs.compiler);
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
  page.add(m.cpu_capability == "default" ? "slow" : "good", "CPU", m.cpu + ", LibTorch uses " + m.cpu_capability,
           "LibTorch is slow without AVX2: unset ATEN_CPU_CAPABILITY if it is set, or take another CPU");
  const bool of_quota = m.cores.quota < m.cores.allowed;
  page.add(m.usable_cores < m.cores.online ? "slow" : "good", "cores",
           std::to_string(m.usable_cores) + " of " + std::to_string(m.cores.online) + limits_in_words(m.cores),
           of_quota ? "these give more: docker --cpus, limits.cpu in Kubernetes, cpu.max of the group"
                    : "these give more: taskset, docker --cpuset-cpus, --cpus-per-task of Slurm",
           m.usable_cores);
  const bool fewer = m.threads < m.usable_cores;
  page.add(fewer ? "slow" : "fact", "threads",
           report::counted(m.threads, "thread") + (fewer ? " for each rank, by OMP_NUM_THREADS" : " for a rank alone"),
           "unset OMP_NUM_THREADS, or set `threads` in the experiment file", m.threads);
}

std::string limit_in_words(std::int64_t limit) { return limit == kUnlimited ? "none" : std::to_string(limit); }

void judge_limits(const Machine& m, Page& page) {
  page.add(kFiles.state(m.files), "files", "limit of open files: " + limit_in_words(m.files),
           "raise it: ulimit -n 1024");
  const std::int64_t tasks = std::min(m.user_tasks, m.tasks.left);
  const bool of_group = m.tasks.left < m.user_tasks;
  page.add(kTasks.state(tasks), "processes",
           "limit of processes and threads: " + limit_in_words(m.user_tasks) + " of this user" +
               (m.tasks.limit == kUnlimited ? ""
                                            : "; " + std::to_string(m.tasks.left) + " of " +
                                                  std::to_string(m.tasks.limit) + " of the control group are left"),
           of_group ? "raise it: docker --pids-limit, pids.max of the group" : "raise it: ulimit -u");
}

void judge_memory(const Machine& m, Page& page) {
  page.group("memory");
  const bool of_group = m.memory.group < m.memory.machine;
  page.add(kMemory.state(m.memory.available), "memory",
           bytes_in_words(m.memory.available) + " of " + bytes_in_words(m.memory.machine) + " available" +
               (of_group ? "; the control group may use " + bytes_in_words(m.memory.group) : ""),
           of_group ? "end other programs of the group, or raise its limit: docker --memory, --mem of Slurm"
                    : "end other programs",
           static_cast<double>(m.memory.available));
  // The ranks' own shared memory has no file.
  const bool needed = m.gpus.facts.gpus.size() > 1;
  const std::int64_t free = m.shm_free.value_or(0);
  page.add(needed ? kShm.state(free) : "fact", "/dev/shm",
           (m.shm_free ? bytes_in_words(free) + " free" : "does not exist") +
               std::string(needed ? "; NCCL needs it between GPUs" : "; only NCCL would need it, between GPUs"),
           "give more: docker --shm-size=1g, or a larger tmpfs", static_cast<double>(free));
  judge_limits(m, page);
}

std::string cuda_in_words(std::int64_t version) {
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Why there is no GPU, if so.
bool judge_absence(const Answered<launch::DriverFacts>& gpus, Page& page) {
  constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE
  const launch::DriverFacts& driver = gpus.facts;
  if (gpus.late) {
    page.add("slow", "GPUs", "the driver gave no answer" + within_patience(),
             "turn persistence mode on (nvidia-smi -pm 1); if nvidia-smi hangs, restart the machine");
  } else if (!gpus.error.empty()) {
    page.add("broken", "GPUs", gpus.error, remedy_of(gpus, "see what nvidia-smi says"));
  } else if (!driver.exists) {
    page.fact("GPUs", "no NVIDIA driver: ranks train on the CPU");
  } else if (driver.error == launch::kNoDriverLibrary) {
    page.add("broken", "GPUs", "libcuda.so.1 cannot be loaded",
             "install the driver's library; docker --gpus all brings it into a container");
  } else if (driver.error == kNoDevice) {
    page.add("slow", "GPUs", "the driver shows none: ranks train on the CPU",
             "look at CUDA_VISIBLE_DEVICES, and at what the job or the container was given");
  } else if (driver.error != 0) {
    page.add("broken", "GPUs", "CUDA does not start: error " + std::to_string(driver.error),
             "see what nvidia-smi says; after an update of the driver the machine must be restarted");
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
  page.add("slow", "links", "GPUs " + report::joined(driver.apart) + " do not reach each other's memory",
           "train on GPUs with a direct link (device_pool), or turn off ACS and the IOMMU");
}

void judge_gpus(const Machine& m, Page& page) {
  page.group("GPUs");
  const launch::DriverFacts& driver = m.gpus.facts;
  if (judge_absence(m.gpus, page)) return;
  for (std::size_t i = 0; i < driver.gpus.size(); ++i) {
    page.fact(("GPU " + std::to_string(i)).c_str(), driver.gpus[i]);
  }
  const LibraryFacts& library = m.library.facts;
  page.add(driver.cuda / 1000 < library.cuda / 1000 ? "broken" : "good", "driver",
           (m.gpu_driver.empty() ? "" : m.gpu_driver + ", ") + "runs up to " + cuda_in_words(driver.cuda) +
               (library.cuda > 0 ? "; LibTorch has " + cuda_in_words(library.cuda) : ""),
           "install a driver for " + cuda_in_words(library.cuda) + " or later");
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

void judge_slurm(const Machine& m, Page& page) {
  page.group("Slurm");
  const ProgramFacts& there = m.programs;
  const char* programs = there.sbatch && there.srun   ? "sbatch and srun are there"
                         : there.sbatch || there.srun ? "one of sbatch and srun is missing"
                                                      : "neither sbatch nor srun is there";
  const std::string nodes = m.slurm_nodes.empty() ? "" : ", nodes: " + m.slurm_nodes;
  page.fact("Slurm", (m.slurm_job.empty() ? "no job" : "job " + m.slurm_job + nodes) + "; " + programs);
}

bool is_of_network(std::string_view type) {
  constexpr std::array kTypes{"nfs", "nfs4",   "cifs",   "smb3", "lustre",         "gpfs",       "ceph",    "fuse.ceph",
                              "afs", "beegfs", "wekafs", "9p",   "fuse.glusterfs", "fuse.sshfs", "orangefs"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

std::string folder_in_words(const Machine& m) {
  const FolderFacts& f = m.folder.facts;
  const std::string where = f.exists ? m.results : m.results + ", not made yet; " + f.folder;
  return where + (f.type.empty() ? "" : " on " + f.type) +
         (is_of_network(f.type)
              ? ": a run's lock may hold on this machine only; others see changes, such as a stop, seconds later"
          : f.type == "tmpfs" ? ": its files are gone when the machine restarts"
                              : "");
}

void judge_results(const Machine& m, Page& page) {
  page.group("results");
  if (m.folder.late) {
    return page.add("broken", "results", m.results + " gave no answer" + within_patience(),
                    "its file system hangs: findmnt names the server; or name another folder with --results");
  }
  if (!m.folder.error.empty()) return page.add("broken", "results", m.folder.error, remedy_of(m.folder, kAnother));
  const FolderFacts& folder = m.folder.facts;
  if (!folder.not_written.empty()) {
    return page.add("broken", "results", folder_in_words(m) + ", " + folder.not_written, kAnother);
  }
  page.fact("results", folder_in_words(m));
  page.add(kSpace.state(folder.free), "space", bytes_in_words(folder.free) + " free",
           "remove old runs, keep fewer checkpoints (checkpoint.keep_last), or name another folder with --results",
           static_cast<double>(folder.free));
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
  judge_slurm(machine, page);
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
