#include "launch/library/libtorch.h"

#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/installation.h"
#include "base/paths.h"
#include "launch/process/program.h"

namespace ddp::launch {
namespace {

bool holds_libtorch(const std::filesystem::path& folder) {
  std::error_code unreadable;
  return std::filesystem::exists(folder / "torch/lib/libtorch_cpu.so", unreadable);
}

// The C++ interface of LibTorch differs between versions: another version would fail later, or compute other values.
void require_version(const std::filesystem::path& folder) {
  std::ifstream stream(folder / "torch/version.py");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::string right = std::string("__version__ = '") + kLibTorchVersion;
  const std::size_t at = text.find(right);
  const char next = at == std::string::npos ? '.' : text.c_str()[at + right.size()];
  if (next == '\'' || next == '+') return;
  throw usage_error(std::string("is not torch ") + kLibTorchVersion + ", the only version that this program runs with",
                    (folder / "torch").string(), kLibTorchRemedy);
}

// Runs the script with its stdout on stderr: stdout belongs to this program's results. Returns its waitpid status.
int run_set_up(const std::string& script, const OptionalLibrary& library) {
  const pid_t pid = spawn({script, "--obtain", library.name}, STDERR_FILENO, STDERR_FILENO);
  if (pid < 0) throw usage_error("cannot be started: " + errno_text(errno), script, library.remedy());
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void obtain_one(const OptionalLibrary& library) {
  const bool complete = library.needed.empty() || !library.needed_folder().empty();
  if (library.is_built() && complete) return;
  if (!in_checkout()) {
    if (library.is_built()) {
      throw usage_error("is not installed; it " + library.purpose, library.package, library.remedy());
    }
    throw usage_error("this package of ddp-exp was made without it; it " + library.purpose,
                      library.file().filename().string(), library.remedy());
  }
  // The program is in build/NAME/bin.
  const std::filesystem::path checkout = program_folder().parent_path().parent_path().parent_path();
  const int status = run_set_up(checkout / "scripts/ddp-exp", library);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw usage_error("the library could not be fetched and built; the lines above say why", library.name,
                      library.remedy());
  }
  if (!library.is_built()) {
    throw usage_error(
        "was built in build/release only", library.file().string(),
        "configure this one with " + library.cmake_option + library.needed_folder().parent_path().string());
  }
}

}  // namespace

const char* const kLibTorchRemedy =
    "install torch 2.11.0 beside ddp-exp (pip install torch==2.11.0), or set DDP_LIBTORCH to a folder that holds "
    "torch/ and nvidia/ of it";

std::filesystem::path libtorch_folder() {
  if (const char* given = std::getenv("DDP_LIBTORCH"); given != nullptr && *given != '\0') {
    const std::filesystem::path folder = paths::absolute(given);
    if (!holds_libtorch(folder)) {
      throw usage_error("holds no torch/lib/libtorch_cpu.so", "DDP_LIBTORCH=" + folder.string(), kLibTorchRemedy);
    }
    require_version(folder);
    return folder;
  }
  if (in_checkout()) return {};
  for (const auto& folder :
       {program_folder().parent_path(), cache_folder() / (std::string("libtorch-") + kLibTorchVersion)}) {
    if (!holds_libtorch(folder)) continue;
    require_version(folder);
    return folder;
  }
  return {};
}

void obtain(const std::set<std::string>& libraries) {
  for (const std::string& name : libraries) obtain_one(optional_library(name));
}

}  // namespace ddp::launch
