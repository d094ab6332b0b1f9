#include "launch/library/tables.h"

#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/installation.h"
#include "base/tables_library.h"
#include "launch/process/program.h"

namespace ddp::launch {
namespace {

bool file_is_there(const std::filesystem::path& file) {
  std::error_code unreadable;
  return std::filesystem::exists(file, unreadable);
}

// Starts the script with what it prints on stderr: stdout belongs to this program's results. Returns its status as
// waitpid gives it.
int run_set_up(const std::string& script) {
  const pid_t pid = spawn({script, "--obtain", "tables"}, STDERR_FILENO, STDERR_FILENO);
  if (pid < 0) throw usage_error("cannot be started: " + errno_text(errno), script, how_to_get_tables());
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

void obtain_tables() {
  const bool built = file_is_there(tables_library());
  if (built && !arrow_folder().empty()) return;
  if (!in_checkout()) {
    if (built) throw usage_error("is not installed, and it reads tables", "Arrow", how_to_get_tables());
    throw usage_error("this package of ddp-exp was made without it, and it reads tables", "libddp_tables.so",
                      "make a package with it: scripts/package");
  }
  // build/NAME/bin holds the program.
  const std::filesystem::path checkout = program_folder().parent_path().parent_path().parent_path();
  const int status = run_set_up(checkout / "scripts/ddp-exp");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw usage_error("what reads tables could not be fetched and built; the lines above say why", "",
                      how_to_get_tables());
  }
  if (!file_is_there(tables_library())) {
    throw usage_error("is in no build but build/release", tables_library().string(),
                      "configure this one with -DDDP_ARROW=" + arrow_folder().parent_path().string());
  }
}

}  // namespace ddp::launch
