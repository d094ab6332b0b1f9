// [notify]: the command at the end of a run or a sweep.
#include <csignal>

#include "catch.h"
#include "long_run.h"
#include "sweeps.h"

namespace ddp::system_test {
namespace {

namespace fs = std::filesystem;

// Adds a line to the file "told" in the test's folder. A tag needs a run that no process writes.
const std::string kTell =
    "notify.command='''echo \"$DDP_STATUS $DDP_NAME $DDP_RUN ${DDP_REASON-none}\" >> told; " DDP_EXP
    " tag \"$DDP_RUN\" +told; echo to-stderr'''";

std::string told(const Workspace& w) { return text_of(w.folder() / "told"); }

std::string line(const std::string& status, const std::string& name, const RunFolder& run, const std::string& reason) {
  return status + " " + name + " " + fs::canonical(run.path()).string() + " " + reason + "\n";
}

}  // namespace

TEST_CASE("notify.command runs once at the end of a completed run, and of its resume, which may have another one") {
  const Workspace w("small.toml", kSmall);
  const Outcome run = w.done({"run", "small.toml", "--set", kTell}, {"to-stderr"});
  CHECK(run.out == "results/small/" + run.run.path().filename().string() + "\n");
  CHECK(told(w) == line("completed", "small", run.run, "none"));
  CHECK(run.run.summary().at("tags") == Json{"told"});
  w.done({"resume", "small"}, {"nothing to do"});
  w.done({"resume", "small", "--set", "epochs=5", "--set", "notify.command=echo again >> told; exit 7"},
         {"warning: notify.command ended with exit code 7"});
  CHECK(told(w) == line("completed", "small", run.run, "none") + "again\n");
  CHECK(run.run.events("resume").back().at("changes").size() == 1);
  w.done({"reproduce", "small"});
  CHECK(told(w) == line("completed", "small", run.run, "none") + "again\n");
}

TEST_CASE("notify.command runs once at the end of a failed run, and after the last restart") {
  const Workspace w("small.toml", kSmall);
  w.ends(1, {"run", "small.toml", "--set", kTell, "--set", "optimizer.lr=1e30", "--run-id", "r"});
  CHECK(told(w).starts_with("failed small " + fs::canonical(w.results() / "small" / "r").string() + " the loss of"));
  const LongRun run({"--max-restarts", "1", "--set", kTell});
  for (const std::size_t restarts : {1, 0}) {
    REQUIRE(run.process().wait_for_ranks(2));
    kill(run.process().ranks().at(1), SIGKILL);
    if (restarts == 1) {
      REQUIRE(wait_until([&] { return run.folder().events("restart").size() == 1; }, run.process().pid()));
    }
  }
  run.ends(1, {"as many as --max-restarts allows"});
  const std::string once = told(run.workspace());
  CHECK(once.starts_with("failed small "));
  CHECK(contains(once, "killed by SIGKILL"));
  CHECK(std::count(once.begin(), once.end(), '\n') == 1);
}

TEST_CASE("notify.command runs at the end of an interrupted run, and another signal ends one that hangs") {
  const LongRun run({"--set", kTell});
  run.stop();
  CHECK(told(run.workspace()) == line("interrupted", "small", run.folder(), "none"));
  const LongRun hangs({"--set", "notify.command=: > began; exec sleep 1000"});
  hangs.process().signal(SIGINT);
  REQUIRE(wait_until([&] { return fs::exists(hangs.workspace().folder() / "began"); }, hangs.process().pid()));
  hangs.process().signal(SIGINT);
  hangs.ends(128 + SIGINT, {"notify.command was cut short"});
}

TEST_CASE("notify.command runs once for a sweep, and never for its trials") {
  const Workspace w("s.toml", kSmall + "[sweep.parameters]\n\"optimizer.lr\" = [0.1, 0.01]\n");
  w.done(sweep_arguments({"--set", kTell}));
  const std::string once = line("completed", "s", sweep_of(w), "none");
  CHECK(told(w) == once);
  w.done({"resume", "s"});
  CHECK(told(w) == once);
  for (const std::string trial : {"1", "0"}) {
    w.done({"sweep", "s.toml", "--set", kTell, "--trial", trial, "--run-id", "jobs"});
  }
  CHECK(told(w) == once + line("completed", "s", RunFolder(w.results() / "s" / "jobs"), "none"));
}

}  // namespace ddp::system_test
