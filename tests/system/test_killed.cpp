#include "catch.h"
#include "long_run.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
TEST_CASE("a killed rank ends the command at once, is named, and leaves no process") {
  for (const int rank : {0, 1, 2}) {
    const LongRun run({"--set", "device_pool=[\"cpu\", \"cpu\", \"cpu\"]"});
    REQUIRE(run.process().wait_for_ranks(3));
    const auto killed = Clock::now();
    kill(run.process().ranks().at(rank), SIGKILL);
    const Outcome outcome = run.finish();
    const double seconds = seconds_since(killed);
    WARN("rank " << rank << " killed: the command ended " << seconds << " s later");
    INFO(outcome.err);
    CHECK(seconds < 10);
    CHECK(outcome.code == 1);
    CHECK_FALSE(outcome.left);
    const std::string name = "rank-" + std::to_string(rank) + ".log";
    CHECK(contains(outcome.err, "rank " + std::to_string(rank)));
    CHECK(contains(outcome.err, "killed by SIGKILL after step"));
    CHECK(contains(outcome.err, name));
    CHECK(contains(outcome.err, "| [CPU" + std::to_string(rank) + "] Epoch "));
    const Json summary = run.folder().summary();
    CHECK(summary.at("status") == "failed");
    CHECK(summary.at("error").at("rank") == rank);
    CHECK(contains(summary.at("error").at("what"), "SIGKILL"));
    CHECK(contains(summary.at("error").at("log"), name));
  }
}

TEST_CASE("a rank that writes to a killed one gets an error, not a SIGPIPE, and is not blamed") {
  const LongRun run({});
  REQUIRE(run.process().wait_for_ranks(2));
  const std::string status = text_of("/proc/" + std::to_string(run.process().ranks().at(0)) + "/status");
  const std::string ignored = "SigIgn:\t";
  const auto mask = std::stoull(status.substr(status.find(ignored) + ignored.size(), 16), nullptr, 16);
  CHECK((mask >> (SIGPIPE - 1) & 1) == 1);
}

TEST_CASE("a rank that is killed while the others are starting ends the command too") {
  const Workspace w("small.toml", kSmall);
  const auto process = w.start({"run", "small.toml", "--set", "epochs=1000000"});
  REQUIRE(process->wait_for_ranks(2));
  kill(process->ranks().at(1), SIGKILL);
  w.ends(1, *process, {"rank 1"});
}

TEST_CASE("a run with a killed rank resumes to the bits of an uninterrupted run") {
  LongRun run({});
  kill(run.process().ranks().at(1), SIGKILL);
  run.ends(1);
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("a run with a killed rank leaves no file of its meeting place") {
  const Workspace w("small.toml", kSmall);
  const fs::path file = w.folder() / "meeting";
  const auto process = w.start({"run", "small.toml", "--set", "epochs=1000000", "--set", "backend=gloo", "--set",
                                "distributed.init_method=file://" + file.string()});
  w.running(*process, "small", 2);
  REQUIRE(process->wait_for_ranks(2));
  CHECK(fs::exists(file));
  kill(process->ranks().at(1), SIGKILL);
  w.ends(1, *process);
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("a killed parent takes its ranks with it, and the run resumes to the bits of an uninterrupted run") {
  for (const char* ranks : {"[\"cpu\", \"cpu\"]", "[\"cpu\", \"cpu\", \"cpu\"]"}) {
    LongRun run({"--set", std::string("device_pool=") + ranks});
    const auto killed = Clock::now();
    run.process().kill();
    WARN("parent killed: its ranks were gone " << seconds_since(killed) << " s later");
    CHECK(run.folder().summary().at("status") == "running");
    run.check_resumes_to_the_same_bits();
  }
}

}  // namespace ddp::system_test
