#include <regex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/paths.h"
#include "catch.h"
#include "errors.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"
#include "record/summary.h"
#include "scratch_folder.h"
#include "started_run.h"
#include "words.h"

namespace ddp::record {
namespace fs = std::filesystem;
TEST_CASE("two runs never share a directory") {
  const ScratchFolder scratch;
  started(scratch.folder(), "a", "1");
  CHECK(contains(error_of([&] { RunDirectory::create(scratch.folder(), "a", "1"); }), "this run exists"));
  const RunDirectory one = RunDirectory::create(scratch.folder(), "a", "");
  const RunDirectory two = RunDirectory::create(scratch.folder(), "a", "");
  CHECK(one.path() != two.path());
  CHECK(std::regex_match(one.path().filename().string(), std::regex("[0-9]{8}-[0-9]{6}-[0-9a-z]{4}")));
  CHECK(fs::read_symlink(scratch.folder() / "a/latest") == "1");
  two.begin([] { return std::string(); });
  CHECK(fs::read_symlink(scratch.folder() / "a/latest") == two.path().filename());
  for (const char* id : {"latest", "..", "a/b", ".hidden", "a b"}) {
    INFO(id);
    CHECK(contains(error_of([&] { RunDirectory::create(scratch.folder(), "a", id); }), "cannot be a run id"));
  }
}

TEST_CASE("a run that cannot write a part of its files leaves only the files that others put there") {
  const ScratchFolder scratch;
  const auto fails = [](const RunDirectory& run) {
    fs::create_directories(run.sources());
    write_atomically(run.sources() / "own.cpp", "int x;\n");
    write_atomically(run.summary(), "{}\n");
    throw training_error("no room", "own.h");
    return std::string();
  };
  const RunDirectory run = RunDirectory::create(scratch.folder() / "results", "a", "1");
  CHECK(contains(error_of([&] { run.begin([&] { return fails(run); }); }), "own.h: no room"));
  CHECK_FALSE(fs::exists(scratch.folder() / "results"));

  const RunDirectory other = RunDirectory::create(scratch.folder() / "results", "b", "1");
  write_atomically(other.path() / "mine.txt", "mine\n");
  CHECK(contains(error_of([&] { other.begin([&] { return fails(other); }); }), "no room"));
  CHECK(paths::entries(other.path()) == std::vector{other.path() / "mine.txt"});

  // A run that has begun stays complete.
  const RunDirectory begun = started(scratch.folder(), "c", "1");
  CHECK(contains(error_of([&] { begun.begin([&] { return fails(begun); }); }), "no room"));
  CHECK(begun.begun());
}

TEST_CASE("many processes that link one name at the same moment all succeed") {
  const ScratchFolder scratch;
  std::vector<std::thread> threads;
  std::vector<std::string> failures(4);
  for (std::size_t t = 0; t < failures.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int time = 0; time < 300; ++time) {
        failures[t] += error_of([&] { link_atomically(scratch.folder() / "latest", "run-" + std::to_string(t)); });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(failures == std::vector<std::string>(failures.size()));
  CHECK(fs::read_symlink(scratch.folder() / "latest").string().starts_with("run-"));
  CHECK_FALSE(fs::is_symlink(scratch.folder() / "latest.tmp"));
}

TEST_CASE("a full disk is reported with the name of the final file, and the remedy") {
  const ScratchFolder scratch;
  const fs::path file = scratch.folder() / "summary.json";
  fs::create_symlink("/dev/full", file.string() + ".tmp");
  const std::string error = error_of([&] { write_atomically(file, "{}"); });
  INFO(error);
  CHECK(contains(error, file.string() + ": cannot write: No space left on device\n  free space on this disk"));
  CHECK(contains(error, "resume RUN"));
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("a file in a folder that is not there is reported with its name") {
  const ScratchFolder scratch;
  const std::string error = error_of([&] { write_atomically(scratch.folder() / "gone" / "page.html", ""); });
  INFO(error);
  CHECK(contains(error, "page.html: cannot create: No such file or directory"));
}

TEST_CASE("a results folder below a file is refused") {
  const ScratchFolder scratch;
  scratch.write("file", "");
  const std::string error = error_of([&] { RunDirectory::create(scratch.folder() / "file" / "results", "a", "1"); });
  INFO(error);
  CHECK(contains(error, "cannot make the folder: Not a directory"));
}

TEST_CASE("a results folder that is a link to nowhere is refused with the link's target") {
  const ScratchFolder scratch;
  fs::create_symlink("gone/away", scratch.folder() / "results");
  const std::string error = error_of([&] { RunDirectory::create(scratch.folder() / "results", "a", "1"); });
  INFO(error);
  CHECK(contains(error, (scratch.folder() / "results").string() + ": is a link to gone/away, which is not there\n"));
  CHECK(fs::is_symlink(scratch.folder() / "results"));
}

TEST_CASE("a second writer of a locked run is refused until the first one lets go") {
  const ScratchFolder scratch;
  const RunDirectory run = RunDirectory::create(scratch.folder(), "a", "1");
  FileDescriptor lock = run.lock();
  CHECK(contains(error_of([&] { run.lock(); }), "another process is writing this run"));
  CHECK(run.is_locked());
  lock.close();
  CHECK_FALSE(run.is_locked());
  CHECK(error_of([&] { run.lock(); }).empty());
}

TEST_CASE("only complete checkpoints count, and the newest and the best are distinguished") {
  const ScratchFolder scratch;
  const fs::path first = saved(scratch.folder(), 5, "0.5");
  const fs::path best = saved(scratch.folder(), 10, "0.25");
  const fs::path last = saved(scratch.folder(), 15, "null");
  scratch.write("step-00000020/state.json", "{}");
  scratch.write(".step-00000025.tmp/state.json", "{}");
  const auto list = complete_checkpoints(scratch.folder());
  CHECK(list == std::vector<fs::path>{last, best, first});
  CHECK(by_metric(list) == std::vector<fs::path>{best, first});
  CHECK(latest_checkpoint(scratch.folder()) == last);
  link_atomically(scratch.folder() / "latest", "step-00000010");
  CHECK(latest_checkpoint(scratch.folder()) == best);
  scratch.write("step-00000010/COMPLETE", "other\n");
  CHECK(latest_checkpoint(scratch.folder()) == first);
  CHECK(complete_checkpoints(scratch.folder() / "none").empty());
}

TEST_CASE("a moment is read back from its text") {
  CHECK(timestamp(0) == "1970-01-01T00:00:00Z");
  CHECK(timestamp(1795295045) == "2026-11-21T21:04:05Z");
  for (const std::time_t moment : {std::time_t{0}, std::time_t{951782400}, std::time_t{4102444799}}) {
    CHECK(read_timestamp(timestamp(moment)) == moment);
  }
}

TEST_CASE("a text that is not a moment is refused") {
  for (const char* text :
       {"", "now", "2026-11-21", "2026-11-21T21:04:05", "2026-11-21T21:04:05+01:00", "2026-02-31T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-11-21T25:00:00Z", "20a6-11-21T21:04:05Z", "2026-11-21T21:04:05Z "}) {
    INFO(text);
    CHECK_FALSE(read_timestamp(text));
  }
}

}  // namespace ddp::record
