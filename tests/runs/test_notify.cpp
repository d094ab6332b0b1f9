#include "runs/notify.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "catch.h"
#include "scratch_folder.h"

namespace ddp::runs {
namespace fs = std::filesystem;

TEST_CASE("notify.command sees the ended run, an empty stdin, default signals, and no reason of another run") {
  const ScratchFolder scratch;
  const std::string told = (scratch.folder() / "told").string();
  const std::string command =
      "cat > " + told + "; yes | head -1 >> " + told +
      "; echo \"$DDP_RUN|$DDP_NAME|$DDP_STATUS|${DDP_REASON-none}|$(grep SigBlk /proc/self/status)\" >> " + told;
  setenv("DDP_REASON", "of another run", 1);
  notify({command}, {.folder = "/r/1", .name = "n", .status = "completed"});
  CHECK(content_of(told) == "y\n/r/1|n|completed|none|SigBlk:\t0000000000000000\n");
  notify({command}, {.folder = "/r/1", .name = "n", .status = "failed", .reason = "first\nsecond"});
  CHECK(content_of(told) == "y\n/r/1|n|failed|first|SigBlk:\t0000000000000000\n");
  unsetenv("DDP_REASON");
}

TEST_CASE("a notify.command that takes too long is killed with all that it started in its group") {
  const ScratchFolder scratch;
  const std::string pipe = (scratch.folder() / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const FileDescriptor reader(open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const std::string began = (scratch.folder() / "began").string();
  // On a slow machine the first ones end before the shell has begun.
  for (std::chrono::milliseconds patience{100}; !fs::exists(began); patience *= 2) {
    notify({"exec 3> " + pipe + "; sleep 1000 & : > " + began + "; wait"},
           {.folder = "/r", .name = "n", .status = "completed"}, patience);
  }
  // The pipe ends when no process has it open.
  pollfd ended{.fd = reader.get(), .events = POLLIN, .revents = 0};
  CHECK(poll(&ended, 1, 60'000) == 1);
  char byte = 0;
  CHECK(read(reader.get(), &byte, 1) == 0);
}

}  // namespace ddp::runs
