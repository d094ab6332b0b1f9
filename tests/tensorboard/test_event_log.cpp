#include <atomic>
#include <filesystem>
#include <thread>

#include "catch.h"
#include "scratch_folder.h"
#include "tensorboard/event_log.h"
#include "tensorboard/events.h"

namespace ddp::tensorboard {
namespace fs = std::filesystem;
namespace {

EventLogOptions options(const ScratchFolder& scratch) {
  return {.folder = scratch.folder() / "tensorboard", .parameters = {{"seed", 42}}, .console = record::Console(-1)};
}

// The number of points in a folder's only event file.
std::int64_t points(const fs::path& folder) {
  std::int64_t found = 0;
  for (const auto& file : fs::directory_iterator(folder)) {
    RecordReader reader(file.path());
    while (const auto record = reader.next()) found += belongs(*record, 1'000'000, 1'000'000);
  }
  return found;
}

}  // namespace

TEST_CASE("events handed over are in the file when flush returns, on any thread, and when the log ends") {
  const ScratchFolder scratch;
  constexpr int kSteps = 20'000;
  {
    EventLog log(options(scratch));
    std::atomic<bool> training{true};
    std::thread saving([&] {
      while (training) log.flush();
    });
    for (int step = 1; step <= kSteps; ++step) log.step({.step = step, .loss = 1.0 / step}, 100, 0.1 * step);
    training = false;
    saving.join();
    log.flush();
    CHECK(points(scratch.folder() / "tensorboard") == kSteps);
    log.epoch({.epoch = 0, .step = kSteps, .metrics = {{"train_loss", 0.5}}}, 1);
    log.finish(true);
  }
  CHECK(points(scratch.folder() / "tensorboard") == kSteps + 1);
}

TEST_CASE("a process without events leaves no folder and no change in an existing file") {
  const ScratchFolder scratch;
  { EventLog(options(scratch)).finish(true); }
  CHECK_FALSE(fs::exists(scratch.folder() / "tensorboard"));
  scratch.write("tensorboard/events.out.tfevents.1.host.1.0", "as it was");
  { EventLog(options(scratch)).finish(true); }
  CHECK(scratch.read("tensorboard/events.out.tfevents.1.host.1.0") == "as it was");
  CHECK(std::distance(fs::directory_iterator(scratch.folder() / "tensorboard"), {}) == 1);
}

}  // namespace ddp::tensorboard
