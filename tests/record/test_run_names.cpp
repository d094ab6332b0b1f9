#include <chrono>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "catch.h"
#include "errors.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/run_directory.h"
#include "record/run_names.h"
#include "record/saves/checkpoint_index.h"
#include "scratch_folder.h"
#include "started_run.h"
#include "words.h"

namespace ddp::record {
namespace fs = std::filesystem;
TEST_CASE("a run that has lost its config.toml is named with its missing file") {
  const ScratchFolder scratch;
  const fs::path run = scratch.folder() / "kg" / "1";
  fs::create_directories(run);
  std::ofstream(run / "metrics.jsonl") << "";
  fs::create_symlink("1", scratch.folder() / "kg" / "latest");
  for (const std::string named : {"kg", "kg/1", "kg/latest"}) {
    CHECK(contains(error_of([&] { RunDirectory::find(scratch.folder(), named); }), run.string() + ": this run"));
  }
}

TEST_CASE("a run is found by its directory, its name, its name and id, or as the latest") {
  const ScratchFolder scratch;
  const fs::path results = scratch.folder() / "results";
  const RunDirectory first = started(results, "a", "1");
  const RunDirectory second = started(results, "a", "2");
  const RunDirectory other = started(results, "b", "x");
  // The start times decide which run is the latest.
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(second.config(), now - std::chrono::seconds(10));
  fs::last_write_time(other.config(), now - std::chrono::seconds(20));
  CHECK(RunDirectory::find(results, "a").path() == second.path());
  CHECK(RunDirectory::find(results, "a/1").path() == first.path());
  CHECK(RunDirectory::find(results, "b").path() == other.path());
  CHECK(RunDirectory::find(results, first.path().string()).path() == first.path());
  CHECK(RunDirectory::find(results, "latest").path() == second.path());
  CHECK(RunDirectory::find(results, (results / "a/latest").string()).path() == second.path());
  CHECK(contains(error_of([&] { RunDirectory::find(results, "c"); }), "no such run: \"c\""));
  CHECK(contains(error_of([&] { RunDirectory::find(results, "a/3"); }), "no such run"));
  CHECK(contains(error_of([&] { RunDirectory::find(scratch.folder() / "none", "latest"); }), "no runs yet"));
}

TEST_CASE("a sweep and its trials are found like a run") {
  const ScratchFolder scratch;
  const fs::path results = scratch.folder() / "results";
  const RunDirectory run = started(results, "a", "1");
  fs::last_write_time(run.config(), fs::file_time_type::clock::now() - std::chrono::seconds(10));
  scratch.write("results/s/2/sweep.toml", "");
  scratch.write("results/s/2/trials/003/config.toml", "");
  link_atomically(results / "s/latest", "2");
  for (const std::string& name :
       {std::string("s"), std::string("s/2"), std::string("latest"), (results / "s/2").string()}) {
    INFO(name);
    const RunDirectory found = RunDirectory::find(results, name);
    CHECK(found.path() == results / "s/2");
    CHECK(found.is_sweep());
    CHECK(contains(error_of([&] { found.require_run(); }), "this is a sweep, not a run"));
  }
  for (const std::string& name :
       {std::string("s/2/trials/003"), std::string("s/latest/trials/003"), (results / "s/2/trials/003").string()}) {
    INFO(name);
    const RunDirectory found = RunDirectory::find(results, name);
    CHECK(found.path() == results / "s/2/trials/003");
    CHECK_FALSE(found.is_sweep());
    CHECK(error_of([&] { found.require_run(); }).empty());
  }
  CHECK(contains(error_of([&] { RunDirectory::find(results, "s/2/trials/004"); }), "no such run"));
  CHECK(contains(error_of([&] { RunDirectory::create(results, "s", "2"); }), "this run exists"));
}

TEST_CASE("a unique part of an id of at least four characters names its run, and an exact name comes first") {
  const ScratchFolder scratch;
  const fs::path results = scratch.folder() / "results";
  const RunDirectory first = started(results, "a", "20260102-030405-w4fg");
  const RunDirectory second = started(results, "b", "20260102-030406-k0qz");
  const RunDirectory newest = started(results, "a", "20260103-000000-mmmm");
  scratch.write("results/a/20260104-000000-wxyz/notes.txt", "no run");
  CHECK(RunDirectory::find(results, "w4fg").path() == first.path());
  CHECK(RunDirectory::find(results, "0405-w4").path() == first.path());
  CHECK(RunDirectory::find(results, "b/k0qz").path() == second.path());
  CHECK(RunDirectory::find(results, "20260102-030406-k0qz").path() == second.path());
  for (const char* none : {"4fg", "a/k0qz", "wxyz", "/w4fg", "a/b/w4fg", "late"}) {
    INFO(none);
    CHECK(contains(error_of([&] { RunDirectory::find(results, none); }), "no such run"));
  }
  // The part of one id is the name of another run.
  const RunDirectory named = started(results, "w4fg", "1");
  CHECK(RunDirectory::find(results, "w4fg").path() == named.path());
  // `latest` also leads to the newest run, and is not a second match.
  CHECK(RunDirectory::find(results, "mmmm").path() == newest.path());
}

TEST_CASE("a part of several ids is an error that lists at most ten of them, the newest first") {
  const ScratchFolder scratch;
  for (int i = 10; i < 22; ++i) started(scratch.folder(), i % 2 == 0 ? "a" : "b", "same-" + std::to_string(i));
  const std::string error = error_of([&] { RunDirectory::find(scratch.folder(), "same"); });
  INFO(error);
  CHECK(contains(error, "\"same\" is part of 12 ids"));
  CHECK(contains(error, "name one of them: b/same-21, a/same-20, "));
  CHECK(contains(error, "a/same-12 and 2 more"));
  CHECK_FALSE(contains(error, "same-11"));
  CHECK(contains(error_of([&] { RunDirectory::find(scratch.folder(), "a/same"); }), "is part of 6 ids"));
}

TEST_CASE("a trial is named by its sweep and its number, and the sweep also by a part of its id") {
  const ScratchFolder scratch;
  const fs::path results = scratch.folder() / "results";
  scratch.write("results/s/20260102-030405-w4fg/sweep.toml", "");
  const fs::path trial = results / "s/20260102-030405-w4fg/trials/003";
  scratch.write("results/s/20260102-030405-w4fg/trials/003/config.toml", "");
  link_atomically(results / "s/latest", "20260102-030405-w4fg");
  for (const std::string& name :
       {std::string("s/20260102-030405-w4fg/003"), std::string("s/latest/003"), std::string("s/003"),
        std::string("s/w4fg/3"), std::string("w4fg/003"), (results / "s/20260102-030405-w4fg/003").string()}) {
    INFO(name);
    CHECK(RunDirectory::find(results, name).path() == trial);
  }
  for (const char* none :
       {"s/w4fg/x", "s/w4fg/-3", "s/gone/003", "s/w4fg/004", "s/004", "s/w4fg/99999999999999999999"}) {
    INFO(none);
    CHECK(contains(error_of([&] { RunDirectory::find(results, none); }), "no such run"));
  }
}

TEST_CASE("an unknown name is an error with the nearest existing names") {
  const ScratchFolder scratch;
  started(scratch.folder(), "basic", "20260102-030405-w4fg");
  started(scratch.folder(), "digits", "mine");
  const auto asked = [&](const std::string& name) {
    return error_of([&] { RunDirectory::find(scratch.folder(), name); });
  };
  CHECK(contains(asked("basci"), "did you mean \"basic\"?"));
  CHECK(contains(asked("digits/mien"), "did you mean \"digits/mine\"?"));
  CHECK(contains(asked("digist/mine"), "did you mean \"digits/mine\"?"));
  CHECK(contains(asked("w4gf"), "did you mean \"basic/20260102-030405-w4fg\"?"));
  CHECK(contains(asked("results/basic/"), "did you mean \"basic\"?"));
  CHECK(contains(asked("digits.toml"), "did you mean \"digits\"?"));
  CHECK(contains(asked("nothing like these"), "names there: basic, digits"));
  // A start that was killed before it wrote config.toml is no run, and not the nearest one.
  fs::create_directories(scratch.folder() / "digits/mime/checkpoints");
  CHECK(contains(asked("digits/mime"), "did you mean \"digits/mine\"?"));
}

TEST_CASE("a name whose newest run, or all of its runs, were removed is told so") {
  const ScratchFolder scratch;
  const fs::path results = scratch.folder() / "results";
  const RunDirectory older = started(results, "acc", "20260102-030405-w4fg");
  const RunDirectory newest = started(results, "acc", "20260103-030405-k0qz");
  started(results, "other", "1");
  const auto asked = [&](const std::string& name) { return error_of([&] { RunDirectory::find(results, name); }); };
  fs::remove_all(newest.path());
  INFO(asked("acc"));
  CHECK(contains(asked("acc"), (results / "acc").string() + ": its newest run is gone"));
  CHECK(contains(asked("acc"), "name one of its runs: acc/20260102-030405-w4fg"));
  fs::remove_all(older.path());
  CHECK(contains(asked("acc"), "no such run: \"acc\"\n  names there: other"));
  fs::remove_all(results / "other" / "1");
  CHECK(contains(asked("acc"), "no such run: \"acc\"; " + results.string() + " has no runs"));
}

TEST_CASE("in results whose links were copied as folders the newest run is found, and none is there twice") {
  const ScratchFolder scratch;
  const fs::path results = scratch.folder() / "results";
  for (const auto& [name, id, day] :
       {std::tuple("a", "z", "1"), std::tuple("a", "b", "2"), std::tuple("c", "d", "3")}) {
    const RunDirectory run = started(results, name, id);
    write_atomically(run.summary(), std::string("{\"started\":\"2026-01-0") + day + "T00:00:00Z\"}\n");
    saved(run.checkpoints(), 8);
    saved(run.checkpoints(), 16);
    link_atomically(run.checkpoints() / "latest", "step-00000008");
  }
  const fs::path copy = scratch.folder() / "copy";
  fs::copy(results, copy, fs::copy_options::recursive);  // follows links
  // A copy has new times: the first run was copied last.
  for (const char* name : {"a", "c"}) REQUIRE_FALSE(fs::is_symlink(copy / name / "latest"));
  fs::last_write_time(copy / "a/z/config.toml", fs::file_time_type::clock::now() + std::chrono::hours(1));
  const auto found = [&](const std::string& named) { return RunDirectory::find(copy, named).path(); };
  CHECK(found("a") == copy / "a/b");
  CHECK(found("a/latest") == copy / "a/b");
  CHECK(found((copy / "a/latest/").string()) == copy / "a/b");
  CHECK(found("latest") == copy / "c/d");
  CHECK(folder_by_part(copy, "late") == std::nullopt);
  // The run went back to step 8.
  CHECK(step_of(latest_checkpoint(copy / "a/b/checkpoints")) == 8);
  // A resumed run makes the links again, and removes no folder.
  RunDirectory(copy / "a/z").begin([] { return std::string(); });
  CHECK(fs::read_symlink(copy / "a/latest") == "b");
  CHECK(RunDirectory(copy / "a/.latest-copy").begun());
  const RunDirectory next = started(copy, "c", "e");
  CHECK(fs::read_symlink(copy / "c/latest") == "e");
  CHECK(fs::exists(copy / "c/.latest-copy/config.toml"));
  // A run that was copied alone is a run like any other.
  const fs::path alone = scratch.folder() / "alone";
  fs::create_directories(alone / "a");
  fs::copy(results / "a/latest", alone / "a/latest", fs::copy_options::recursive);
  CHECK(RunDirectory::find(alone, "a").path() == alone / "a/latest");
  RunDirectory(alone / "a/latest").begin([] { return std::string(); });
  CHECK(RunDirectory::find(alone, "a").begun());
  started(alone, "a", "1");
  CHECK(fs::read_symlink(alone / "a/latest") == "1");
  CHECK(RunDirectory::find(alone, "a/latest-copy").begun());
}

TEST_CASE("links that lead nowhere or to themselves are not the latest run") {
  const ScratchFolder scratch;
  started(scratch.folder(), "a", "1");
  for (const char* target : {"gone", "latest", "../b", "/dev/null"}) {
    scratch.write(std::string("b/x"), "");
    fs::remove(scratch.folder() / "b/latest");
    fs::create_symlink(target, scratch.folder() / "b/latest");
    CHECK(RunDirectory::find(scratch.folder(), "latest").path() == scratch.folder() / "a/1");
  }
}

}  // namespace ddp::record
