#include <regex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/paths.h"
#include "catch.h"
#include "errors.h"
#include "record/file/atomic_file.h"
#include "record/file/hash.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"
#include "scratch.h"
#include "words.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

RunDirectory started(const fs::path& results, const std::string& name, const std::string& id) {
  const RunDirectory run = RunDirectory::create(results, name, id);
  run.begin([&] { return "name = \"" + name + "\"\n"; });
  return run;
}

// A complete checkpoint, as the index sees it.
fs::path checkpoint(const Scratch& scratch, const std::string& step, const std::string& metric) {
  const fs::path folder = scratch.folder() / ("step-" + step);
  const std::string number = std::to_string(std::stoi(step));
  scratch.write(
      "step-" + step + "/state.json",
      "{\"step\":" + number +
          ",\"epoch\":0,\"position\":0,\"offset\":0,\"world_size\":2,\"global_batch_size\":64,\"seconds\":1.5," +
          "\"metric\":{\"name\":\"val_loss\",\"value\":" + metric + "}}");
  scratch.write("step-" + step + "/COMPLETE", hash_hex_of(folder / "state.json") + "\n");
  return folder;
}

}  // namespace

TEST_CASE("a run that has lost its config.toml is named with its missing file") {
  const Scratch scratch;
  const fs::path run = scratch.folder() / "kg" / "1";
  fs::create_directories(run);
  std::ofstream(run / "metrics.jsonl") << "";
  fs::create_symlink("1", scratch.folder() / "kg" / "latest");
  for (const std::string named : {"kg", "kg/1", "kg/latest"}) {
    CHECK(contains(error_of([&] { RunDirectory::find(scratch.folder(), named); }),
                   run.string() + ": this run has no config.toml"));
  }
}

TEST_CASE("a run is found by its directory, its name, its name and id, or as the latest") {
  const Scratch scratch;
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
  const Scratch scratch;
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
  const Scratch scratch;
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
  const Scratch scratch;
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
  const Scratch scratch;
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
  for (const char* none : {"s/w4fg/x", "s/w4fg/-3", "s/gone/003"}) {
    INFO(none);
    CHECK(contains(error_of([&] { RunDirectory::find(results, none); }), "no such run"));
  }
  scratch.write("results/s/20260102-030405-w4fg/trials/011/config.toml", "");
  for (const std::string none : {"s/w4fg/004", "s/004", "s/latest/004", "s/w4fg/99999999999999999999"}) {
    INFO(none);
    const std::string error = error_of([&] { RunDirectory::find(results, none); });
    CHECK(contains(error, "there is no trial " + none.substr(none.rfind('/') + 1) + "\n"));
    CHECK(contains(error, "its trials: 003 to 011"));
  }
}

TEST_CASE("an unknown name is an error with the nearest existing names") {
  const Scratch scratch;
  started(scratch.folder(), "basic", "20260102-030405-w4fg");
  started(scratch.folder(), "digits", "mine");
  const auto asked = [&](const std::string& name) {
    return error_of([&] { RunDirectory::find(scratch.folder(), name); });
  };
  CHECK(contains(asked("basci"), "did you mean \"basic\"?"));
  CHECK(contains(asked("digits/mien"), "did you mean \"digits/mine\"?"));
  CHECK(contains(asked("digist/mine"), "did you mean \"digits/mine\"?"));
  CHECK(contains(asked("w4gf"), "did you mean \"basic/20260102-030405-w4fg\"?"));
  CHECK(contains(asked("nothing like these"), "a part of an id of at least 4 characters"));
}

TEST_CASE("links that lead nowhere or to themselves are not the latest run") {
  const Scratch scratch;
  started(scratch.folder(), "a", "1");
  for (const char* target : {"gone", "latest", "../b", "/dev/null"}) {
    scratch.write(std::string("b/x"), "");
    fs::remove(scratch.folder() / "b/latest");
    fs::create_symlink(target, scratch.folder() / "b/latest");
    CHECK(RunDirectory::find(scratch.folder(), "latest").path() == scratch.folder() / "a/1");
  }
}

TEST_CASE("two runs never share a directory") {
  const Scratch scratch;
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
  const Scratch scratch;
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
  const Scratch scratch;
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
  const Scratch scratch;
  const fs::path file = scratch.folder() / "summary.json";
  fs::create_symlink("/dev/full", file.string() + ".tmp");
  const std::string error = error_of([&] { write_atomically(file, "{}"); });
  INFO(error);
  CHECK(contains(error, file.string() + ": cannot write: No space left on device\n  free space on this disk"));
  CHECK(contains(error, "resume RUN"));
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("a file in a folder that is not there is reported with the remedy") {
  const Scratch scratch;
  const std::string error = error_of([&] { write_atomically(scratch.folder() / "gone" / "page.html", ""); });
  INFO(error);
  CHECK(contains(error, "page.html: cannot create: No such file or directory\n  make the folder first"));
}

TEST_CASE("a results folder below a file is refused with the option that names another") {
  const Scratch scratch;
  scratch.write("file", "");
  const std::string error = error_of([&] { RunDirectory::create(scratch.folder() / "file" / "results", "a", "1"); });
  INFO(error);
  CHECK(contains(error, "cannot make the folder: Not a directory\n"));
  CHECK(contains(error, "--results DIR"));
}

TEST_CASE("a second writer of a locked run is refused until the first one lets go") {
  const Scratch scratch;
  const RunDirectory run = RunDirectory::create(scratch.folder(), "a", "1");
  FileDescriptor lock = run.lock();
  CHECK(contains(error_of([&] { run.lock(); }), "another process is writing this run"));
  CHECK(run.is_locked());
  lock.close();
  CHECK_FALSE(run.is_locked());
  CHECK(error_of([&] { run.lock(); }).empty());
}

TEST_CASE("only complete checkpoints count, and the newest and the best are distinguished") {
  const Scratch scratch;
  const fs::path first = checkpoint(scratch, "00000005", "0.5");
  const fs::path best = checkpoint(scratch, "00000010", "0.25");
  const fs::path last = checkpoint(scratch, "00000015", "null");
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

}  // namespace ddp::record
