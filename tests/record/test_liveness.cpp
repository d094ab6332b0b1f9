#include "record/liveness.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <ctime>
#include <fstream>

#include "catch.h"
#include "scratch_folder.h"

namespace ddp::record {
namespace {

namespace fs = std::filesystem;

void touch(const fs::path& file, std::time_t seconds_ago) {
  std::ofstream(file) << "{}";
  const timespec then{.tv_sec = std::time(nullptr) - seconds_ago, .tv_nsec = 0};
  const timespec times[] = {then, then};
  REQUIRE(utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("on this machine the lock tells whether a run is alive; of another one its files, as long as they are new") {
  const ScratchFolder folder;
  const RunDirectory run(folder.folder());
  touch(run.summary(), 0);
  CHECK_FALSE(is_alive(run, host_name()));
  CHECK_FALSE(is_alive(run, ""));
  CHECK(is_alive(run, "another-machine"));
  touch(run.summary(), kSilence + 10);
  CHECK_FALSE(is_alive(run, "another-machine"));
  touch(run.metrics(), 10);
  CHECK(is_alive(run, "another-machine"));
  touch(run.metrics(), kSilence + 10);
  note_alive(run);
  CHECK(is_alive(run, "another-machine"));
  const FileDescriptor lock = run.lock();
  CHECK(is_alive(run, host_name()));
}

TEST_CASE("a request to stop is heard once, and one to end at once also after it") {
  const ScratchFolder folder;
  const RunDirectory run(folder.folder());
  StopRequests requests(run);
  CHECK_FALSE(requests.hear());
  request_stop(run, StopRequest::save);
  CHECK(requests.hear() == StopRequest::save);
  CHECK_FALSE(requests.hear());
  request_stop(run, StopRequest::at_once);
  CHECK(requests.hear() == StopRequest::at_once);
  request_stop(run, StopRequest::save);
  CHECK_FALSE(requests.hear());
  forget_stop_request(run);
  CHECK(fs::is_empty(folder.folder()));
}

}  // namespace ddp::record
