#include "launch/library/obtain.h"

#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/installation.h"
#include "base/optional_library.h"
#include "launch/process/program.h"

namespace ddp::launch {
namespace {

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

void obtain(const std::set<std::string>& libraries) {
  for (const std::string& name : libraries) obtain_one(optional_library(name));
}

}  // namespace ddp::launch
