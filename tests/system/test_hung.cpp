#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.h"
#include "long_run.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// Returns true if gdb is installed and a process may trace another one here.
bool gdb_can_look() {
  if (access("/usr/bin/gdb", X_OK) != 0) return false;
  const pid_t pid = fork();
  if (pid == 0) {
    pause();
    _exit(0);
  }
  const bool allowed = ptrace(PTRACE_ATTACH, pid, nullptr, nullptr) == 0;
  kill(pid, SIGKILL);
  // The first status may be the stop of the child.
  for (int status = 0; waitpid(pid, &status, 0) == pid && !WIFSIGNALED(status);) {
  }
  return allowed;
}

// Stops these ranks permanently; returns the seconds until the program reports a hanging one.
double stop_and_wait(const LongRun& run, std::size_t ranks) {
  REQUIRE(run.process().wait_for_ranks(ranks));
  const auto stopped = Clock::now();
  for (const pid_t rank : run.process().ranks()) kill(rank, SIGSTOP);
  const auto told = [&] { return contains(run.process().err(), "hangs; asking gdb where") || run.process().ended(); };
  REQUIRE(wait_until(told, run.process().pid()));
  return seconds_since(stopped);
}

// The seconds after which gdb may have run out of time: its limit is 30 s from the program's message on, and a loaded
// machine may need all of it.
constexpr double kGdbMayFail = 28;

void check_stack(const Outcome& ended, const RunFolder& run, int rank, double seconds) {
  if (!gdb_can_look() || seconds > kGdbMayFail) return;
  CHECK(contains(ended.err, "rank " + std::to_string(rank) + " is in (all threads: its log)\n    | #0 "));
  CHECK(contains(run.log(rank), "\nThread 1 "));
}

}  // namespace

TEST_CASE("the only rank of a hanging run is named with its step, its activity and its place", "[slow]") {
  const LongRun run({"--set", "device_pool=[\"cpu\"]", "--set", "distributed.timeout=5"});
  const double seconds = stop_and_wait(run, 1);
  WARN("timeout 5 s: the hang of the only rank was reported " << seconds << " s after it had been stopped");
  CHECK(seconds >= 4);
  CHECK(seconds < 25);
  const auto told = Clock::now();
  const Outcome ended = run.ends(1, {"rank 0 (cpu): has done nothing for 5 s (distributed.timeout): it is after step ",
                                     "its process is stopped (SIGSTOP?)"});
  check_stack(ended, run.folder(), 0, seconds_since(told));
  CHECK(run.folder().summary().at("status") == "failed");
}

TEST_CASE("ranks that all hang while none waits for another are named", "[slow]") {
  const LongRun run({"--set", "distributed.timeout=5"});
  const double seconds = stop_and_wait(run, 2);
  WARN("timeout 5 s: the hang of all ranks was reported " << seconds << " s after they had been stopped");
  const auto told = Clock::now();
  const Outcome ended = run.finish();
  const double to_end = seconds_since(told);
  INFO(ended.err);
  CHECK(seconds < 25);
  CHECK(ended.code == 1);
  CHECK_FALSE(ended.left);
  for (const int rank : {0, 1}) {
    CHECK(contains(ended.err, "rank " + std::to_string(rank)));
    check_stack(ended, run.folder(), rank, to_end);
  }
}

TEST_CASE("a rank that another one waits for is examined before it is ended", "[slow]") {
  const LongRun run({"--set", "distributed.timeout=5"});
  REQUIRE(run.process().wait_for_ranks(2));
  kill(run.process().ranks().at(1), SIGSTOP);
  const auto stopped = Clock::now();
  const Outcome ended = run.ends(1, {"rank 1 (cpu): rank 0 waited for ", "rank 1 stays away"});
  check_stack(ended, run.folder(), 1, seconds_since(stopped) - 5);
}

TEST_CASE("a run that is stopped as a whole for longer than the timeout continues normally", "[slow]") {
  const LongRun run({"--set", "device_pool=[\"cpu\"]", "--set", "distributed.timeout=3"});
  REQUIRE(run.process().wait_for_ranks(1));
  std::vector<pid_t> all = run.process().ranks();
  all.push_back(run.process().pid());
  for (const pid_t pid : all) kill(pid, SIGSTOP);
  const auto stopped = Clock::now();
  wait_until([&] { return seconds_since(stopped) > 5; });
  // The parent first: it checks before its rank can have made progress.
  for (auto pid = all.rbegin(); pid != all.rend(); ++pid) kill(*pid, SIGCONT);
  const auto step = run.folder().last_step();
  REQUIRE(wait_until([&] { return run.folder().last_step() > step; }, run.process().pid()));
  run.stop();
}

TEST_CASE("a second control-C ends a hanging run at once, even while a gdb without an answer holds its ranks",
          "[slow]") {
  const Workspace w("small.toml", kSmall);
  w.write("bin/gdb", "#!/bin/sh\nfor pid; do :; done\nexec strace -o /dev/null -p $pid\n");
  fs::permissions(w.folder() / "bin/gdb", fs::perms::owner_all);
  const auto process = w.start({"run", "small.toml", "--set", "epochs=1000000", "--set", "distributed.timeout=5"},
                               {{"PATH", (w.folder() / "bin").string() + ":" + std::getenv("PATH")}});
  REQUIRE(process->wait_for_ranks(2));
  const std::vector<pid_t> ranks = process->ranks();
  for (const pid_t rank : ranks) kill(rank, SIGSTOP);
  const auto held = [](pid_t rank) {
    return !contains(text_of(fs::path("/proc") / std::to_string(rank) / "status"), "TracerPid:\t0\n");
  };
  REQUIRE(wait_until([&] { return contains(process->err(), "hangs; asking gdb where"); }, process->pid()));
  if (gdb_can_look()) REQUIRE(wait_until([&] { return held(ranks[0]) && held(ranks[1]); }, process->pid()));
  for (const pid_t child : process->children()) {
    if (std::find(ranks.begin(), ranks.end(), child) == ranks.end()) kill(child, SIGSTOP);
  }
  process->signal(SIGINT);
  REQUIRE(wait_until([&] { return contains(process->err(), "stopping after this step"); }, process->pid()));
  const auto second = Clock::now();
  process->signal(SIGINT);
  const Outcome ended = w.finish(*process);
  INFO(ended.err);
  CHECK(seconds_since(second) < 10);
  CHECK(ended.code != 0);
  CHECK_FALSE(ended.left);
}

}  // namespace ddp::system_test
