#include "record/liveness.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <climits>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "base/error.h"
#include "record/file/atomic_file.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

constexpr const char* kAtOnce = "at once\n";

fs::path request_file(const RunDirectory& run) { return run.path() / "stop"; }
fs::path answer_file(const RunDirectory& run) { return run.path() / "stop-heard"; }

std::time_t written(const fs::path& file) {
  struct stat status {};
  return stat(file.c_str(), &status) == 0 ? status.st_mtime : 0;
}

}  // namespace

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

bool is_alive(const RunDirectory& run, const std::string& host) {
  if (run.is_locked()) return true;
  if (host.empty() || host == host_name()) return false;
  return std::max(written(run.summary()), written(run.metrics())) > std::time(nullptr) - kSilence;
}

void note_alive(const RunDirectory& run) { utimensat(AT_FDCWD, run.summary().c_str(), nullptr, 0); }

void request_stop(const RunDirectory& run, StopRequest request) {
  write_atomically(request_file(run), request == StopRequest::at_once ? kAtOnce : "after saving\n");
}

bool is_heard(const RunDirectory& run) { return access(answer_file(run).c_str(), F_OK) == 0; }

// /proc/locks: "1: FLOCK  ADVISORY  WRITE 4711 fe:00:1053 0 EOF".
pid_t writer_of(const RunDirectory& run) {
  struct stat status {};
  if (stat(run.path().c_str(), &status) != 0) return 0;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, mode, access, place;
    pid_t pid = 0;
    words >> number >> kind >> mode >> access >> pid >> place;
    if (kind == "FLOCK" && place.ends_with(":" + std::to_string(status.st_ino))) return pid;
  }
  return 0;
}

void forget_stop_request(const RunDirectory& run) {
  unlink(request_file(run).c_str());
  unlink(answer_file(run).c_str());
}

std::optional<StopRequest> StopRequests::hear() {
  const fs::path file = request_file(run_);
  if (access(file.c_str(), F_OK) != 0) return {};
  StopRequest request = StopRequest::save;
  try {
    if (read_text(file) == kAtOnce) request = StopRequest::at_once;
    if (!is_heard(run_)) write_atomically(answer_file(run_), "");
  } catch (const Error&) {  // the request stands, whatever its file says
  }
  if (request == heard_ || heard_ == StopRequest::at_once) return {};
  heard_ = request;
  return request;
}

}  // namespace ddp::record
