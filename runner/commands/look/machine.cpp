#include "commands/look/machine.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/paths.h"
#include "launch/library/compile.h"
#include "launch/library/libtorch.h"
#include "launch/library/rank_library.h"
#include "launch/process/child.h"
#include "launch/process/program.h"
#include "runs/environment.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

using SteadyClock = std::chrono::steady_clock;

double passed_since(SteadyClock::time_point then) {
  return std::chrono::duration<double>(SteadyClock::now() - then).count();
}

// A throw-away child that finds out these facts. It writes its error, the remedy, and the facts.
template <class Facts>
class FactFinder {
 public:
  FactFinder(const char* what, const std::function<Facts()>& find) {
    try {
      child_.emplace(what, std::vector<int>{}, [&](int pipe) { tell(find, pipe); });
    } catch (const Error& error) {
      no_child_ = error.what();
    }
  }

  Answered<Facts> answer(SteadyClock::time_point deadline) try {
    if (!child_) return {.error = no_child_, .remedy = "see the limits of files and processes"};
    const auto json = child_->answer(deadline);
    if (!json) return {.late = true};
    const config::Value said = config::Value::parse(*json);
    return {.facts = config::read<Facts>(said[2]), .error = said[0], .remedy = said[1]};
  } catch (const Error& error) {
    return {.error = error.what()};
  }

 private:
  static void tell(const std::function<Facts()>& find, int pipe) {
    config::Value said = config::Value::array({"", "", config::Value::object()});
    try {
      said[2] = config::write(find());
    } catch (const Error& error) {
      said[0] = (error.where().empty() ? "" : error.where() + " ") + error.summary();
      said[1] = error.remedy();
    }
    const std::string json = rank::json_line(said);
    write_all(pipe, json.data(), json.size(), "pipe");
  }

  std::optional<launch::AskedChild> child_;
  std::string no_child_;  // why there is none
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "";
}

// Returns the version that a function of a loaded library tells; 0 without it.
std::int64_t version_told_by(const char* name) {
  const auto tell = reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, name));
  int version = 0;
  return tell != nullptr && tell(&version) == 0 ? version : 0;
}

LibraryFacts load_library(bool gpus) {
  LibraryFacts facts;
  const auto begun = SteadyClock::now();
  const launch::RankLibrary library(/*gpus=*/false);
  facts.seconds = passed_since(begun);
  if (!gpus) return facts;
  try {
    const launch::RankLibrary with_gpus(/*gpus=*/true);
    facts.nccl = version_told_by("ncclGetVersion");
    facts.cuda = version_told_by("cudaRuntimeGetVersion");
  } catch (const Error& error) {
    facts.gpu_error = error.what();
  }
  return facts;
}

ProgramFacts look_for_programs() {
  ProgramFacts facts{.sbatch = !launch::program_file("sbatch").empty(), .srun = !launch::program_file("srun").empty()};
  try {
    for (const std::string& word : launch::read_sdk().compiler)
      facts.compiler += (facts.compiler.empty() ? "" : " ") + word;
  } catch (const Error& error) {
    facts.compiler_error = error.what();
  }
  return facts;
}

// Returns the path, or the nearest one above it that exists.
fs::path existing_folder(const std::string& path) {
  fs::path folder = paths::absolute(path);
  std::error_code none;
  while (!fs::exists(folder, none) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

// Returns the free bytes of a file system; nothing if the folder does not exist.
std::optional<std::int64_t> free_bytes(const fs::path& folder) {
  struct statvfs space {};
  if (statvfs(folder.c_str(), &space) != 0) return {};
  return static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize);
}

// The type of a file system as /proc/self/mountinfo names it, by the id of its mount.
std::string type_of_mount(const fs::path& folder) {
  struct statx found {};
  if (statx(AT_FDCWD, folder.c_str(), 0, STATX_MNT_ID, &found) != 0) return "";
  std::ifstream in("/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(std::min(line.size(), line.find(" - ") + 3)));
    std::string type;
    if (std::strtoull(line.c_str(), nullptr, 10) == found.stx_mnt_id && words >> type) return type;
  }
  return "";
}

// Opens a new file without a name: it is gone when this process ends, however it ends. Network file systems have no
// O_TMPFILE. If it fails, the descriptor is invalid, and errno says why.
FileDescriptor nameless_file(const fs::path& folder) {
  FileDescriptor file(open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (file) return file;
  std::string name = (folder / ".ddp-exp-doctor-XXXXXX").string();
  file = FileDescriptor(mkostemp(name.data(), O_CLOEXEC));
  if (file) unlink(name.c_str());
  return file;
}

FolderFacts look_at_folder(const std::string& results) {
  const fs::path folder = existing_folder(results);
  FolderFacts facts{.exists = folder == paths::absolute(results),
                    .folder = folder.string(),
                    .type = type_of_mount(folder),
                    .free = free_bytes(folder).value_or(0)};
  std::error_code none;
  if (!fs::is_directory(folder, none)) {
    facts.not_written = "is no folder";
  } else if (!nameless_file(folder)) {
    facts.not_written = "cannot be written: " + errno_text(errno);
  }
  return facts;
}

std::int64_t soft_limit(__rlimit_resource resource) {
  rlimit limit{};
  const bool known = getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known ? static_cast<std::int64_t>(limit.rlim_cur) : std::numeric_limits<std::int64_t>::max();
}

Machine without_children() {
  utsname system{};
  uname(&system);
  return {.build = launch::build_id(),
          .kernel = std::string(system.sysname) + " " + system.release,
          .glibc = gnu_get_libc_version(),
          .cpu = cpu_model(),
          .cpu_capability = runs::cpu_capability(),
          .programs = look_for_programs(),
          .cores = cores(),
          .usable_cores = usable_cores(),
          .threads = default_threads(1),
          .memory = memory(),
          .shm_free = free_bytes("/dev/shm"),
          .files = soft_limit(RLIMIT_NOFILE),
          .user_tasks = soft_limit(RLIMIT_NPROC),
          .tasks = tasks(),
          .gpu_driver = first_line("/sys/module/nvidia/version"),
          .slurm_job = variable("SLURM_JOB_ID"),
          .slurm_nodes = variable("SLURM_JOB_NUM_NODES")};
}

}  // namespace

Machine measure_machine(const std::string& results) {
  Machine m = without_children();
  m.results = results;
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(static_cast<int>(kMachinePatience * 1000));
  FactFinder<FolderFacts> folder("looking at the results folder", [&] { return look_at_folder(results); });
  FactFinder<launch::DriverFacts> gpus("asking for GPUs", launch::ask_driver);
  FactFinder<LibraryFacts> library("loading LibTorch", [] { return load_library(launch::has_nvidia_driver()); });
  m.folder = folder.answer(deadline);
  m.gpus = gpus.answer(deadline);
  m.library = library.answer(deadline);
  return m;
}

}  // namespace ddp::commands
