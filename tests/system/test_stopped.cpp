#include <fstream>

#include "catch.h"
#include "long_run.h"

namespace ddp::system_test {
namespace fs = std::filesystem;

TEST_CASE(
    "SIGTERM stops all ranks after the same step and saves, and a resume gives the bits of an uninterrupted run") {
  LongRun run({});
  const Outcome stopped = run.stop();
  CHECK(stopped.out.starts_with("results/small/"));
  CHECK(contains(stopped.err, "to continue: " DDP_EXP " resume " + stopped.out));
  const Json summary = run.folder().summary();
  CHECK(summary.at("status") == "interrupted");
  CHECK(summary.at("error").is_null());
  // The last step in metrics.jsonl is the saved one, on both ranks.
  CHECK(fs::read_symlink(run.folder().path() / "checkpoints/latest") ==
        run.folder().checkpoint(run.folder().last_step()).filename());
  CHECK(summary.at("steps") == run.folder().last_step());
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("a SIGTERM that a batch system repeats at once is one request: the run is saved") {
  LongRun run({});
  REQUIRE(run.process().wait_for_ranks(2));
  // No step ends before both signals have arrived.
  for (const pid_t rank : run.process().ranks()) kill(rank, SIGSTOP);
  const fs::path status = "/proc/" + std::to_string(run.process().pid()) + "/status";
  for (const int signal : {SIGTERM, SIGUSR2, SIGTERM}) {
    run.process().signal(signal);
    REQUIRE(wait_until([&] { return contains(text_of(status), "ShdPnd:\t0000000000000000"); }, run.process().pid()));
  }
  for (const pid_t rank : run.process().ranks()) kill(rank, SIGCONT);
  const Outcome stopped = run.ends(143);
  CHECK_FALSE(contains(stopped.err, "stopping at once"));
  CHECK(run.folder().summary().at("steps") == run.folder().last_step());
  CHECK(fs::read_symlink(run.folder().path() / "checkpoints/latest") ==
        run.folder().checkpoint(run.folder().last_step()).filename());
}

TEST_CASE("a terminal that closes, and USR1, stop the run after saving") {
  for (const auto& [signal, code] : {std::pair(SIGHUP, 129), std::pair(SIGUSR1, 138)}) {
    LongRun run({});
    kill(-run.process().pid(), signal);
    const Outcome stopped = run.finish();
    INFO(stopped.err);
    CHECK(stopped.code == code);
    CHECK_FALSE(stopped.left);
    CHECK(contains(stopped.err, "stopped; saved after step " + std::to_string(run.folder().last_step())));
    CHECK(run.folder().summary().at("status") == "interrupted");
  }
}

TEST_CASE("control-C on the whole group stops the run after saving with exit 130") {
  LongRun run({"--set", "device_pool=[\"cpu\", \"cpu\", \"cpu\"]"});
  kill(-run.process().pid(), SIGINT);
  run.ends(130);
  CHECK(run.folder().summary().at("status") == "interrupted");
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("a second control-C ends a run at once even while a rank hangs") {
  LongRun run({});
  REQUIRE(run.process().wait_for_ranks(2));
  kill(run.process().ranks().at(1), SIGSTOP);
  run.process().signal(SIGINT);
  REQUIRE(wait_until([&] { return contains(run.process().err(), "stopping after this step"); }, run.process().pid()));
  CHECK_FALSE(run.process().ended());
  run.process().signal(SIGINT);
  run.ends(130);
  CHECK(run.folder().summary().at("status") == "interrupted");
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("a run that cannot stop within its grace is ended, says what is saved, and resumes to the same bits") {
  LongRun run({"--set", "grace=1"});
  REQUIRE(run.process().wait_for_ranks(2));
  kill(run.process().ranks().at(1), SIGSTOP);
  const auto asked = Clock::now();
  run.process().signal(SIGTERM);
  const Outcome stopped = run.finish();
  const std::chrono::duration<double> seconds = Clock::now() - asked;
  WARN("grace 1 s: the command ended after " << seconds.count() << " s");
  INFO(stopped.err);
  CHECK(seconds.count() >= 1);
  CHECK(seconds.count() < 10);
  CHECK(stopped.code == 143);
  CHECK_FALSE(stopped.left);
  CHECK(contains(stopped.err, "have not saved and ended within 1 s (grace)"));
  CHECK(contains(stopped.err, "stopped; saved after step "));
  CHECK(run.folder().summary().at("status") == "interrupted");
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("a run that is ended while its ranks start counts as interrupted") {
  const Workspace w("small.toml", kSmall);
  // Long enough that it is still running when the test has found its ranks.
  const auto process = w.start({"run", "small.toml", "--set", "epochs=1000000"});
  REQUIRE(process->wait_for_ranks(2));
  for (const pid_t rank : process->ranks()) kill(rank, SIGSTOP);
  process->signal(SIGINT);
  REQUIRE(wait_until([&] { return contains(process->err(), "stopping after this step"); }, process->pid()));
  process->signal(SIGINT);
  const Outcome stopped = w.ends(130, *process);
  CHECK(stopped.run.summary().at("status") == "interrupted");
}

TEST_CASE("a run that cannot save when it is stopped reports a failure") {
  LongRun run({});
  REQUIRE(run.process().wait_for_ranks(2));
  // All processes are stopped while their folder becomes one without space for a save.
  REQUIRE(stand_still(run.process().ranks()));
  fs::rename(run.folder().path() / "checkpoints", run.folder().path() / "moved");
  std::ofstream(run.folder().path() / "checkpoints") << "in the way";
  run.process().signal(SIGTERM);
  for (const pid_t rank : run.process().ranks()) kill(rank, SIGCONT);
  const Outcome stopped = run.ends(1);
  CHECK(run.folder().summary().at("status") == "failed");
  CHECK(run.folder().summary().at("error").at("rank") == 0);
  CHECK(contains(stopped.err, "checkpoints"));
}

}  // namespace ddp::system_test
