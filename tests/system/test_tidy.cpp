// rm and gc: what goes, what stays, and what is refused.
#include "catch.h"
#include "long_run.h"
#include "run_folder.h"
#include "workspace.h"

namespace ddp::system_test {
namespace {

namespace fs = std::filesystem;

// A run with checkpoints at each epoch of four.
void run_named(const Workspace& w, const std::string& name, const Words& more = {}) {
  w.done(joined({"run", "small.toml", "--name", name, "--run-id", "r"}, more));
}

std::vector<std::string> checkpoints_of(const Workspace& w, const std::string& name) {
  std::vector<std::string> steps;
  for (const std::string& entry : RunFolder(w.results() / name / "r" / "checkpoints").listing()) {
    if (entry.starts_with("step-") && entry.ends_with("/")) steps.push_back(entry.substr(0, entry.size() - 1));
  }
  return steps;
}

const std::string kSaved = kSmall + "[checkpoint]\nsave_every = 1\nkeep_last = 10\n";

}  // namespace

TEST_CASE("rm says what and how much, needs --yes without a terminal, and leaves the other runs and latest") {
  const Workspace w("small.toml", kSaved);
  run_named(w, "a");
  w.done({"run", "small.toml", "--name", "a", "--run-id", "s"});
  run_named(w, "b");
  const Outcome dry = w.done({"rm", "b", "a/s", "--dry-run"});
  CHECK(dry.out.find("2 results, ") != std::string::npos);
  const Outcome unasked = w.run({"rm", "b"});
  CHECK(unasked.code == 2);
  CHECK(unasked.err.find("nobody can be asked here") != std::string::npos);
  CHECK(fs::exists(w.results() / "b" / "r"));
  w.done({"rm", "b", "a/s", "--yes"});
  CHECK_FALSE(fs::exists(w.results() / "b"));
  CHECK_FALSE(fs::exists(w.results() / "a" / "s"));
  CHECK(fs::read_symlink(w.results() / "a" / "latest") == "r");
  w.done({"resume", "a", "--set", "epochs=5"});
}

TEST_CASE("rm of a link removes the link alone, and list shows the run behind it") {
  const Workspace w("small.toml", kSaved);
  run_named(w, "a");
  fs::create_directories(w.folder() / "elsewhere/a");
  fs::rename(w.results() / "a" / "r", w.folder() / "elsewhere/a/r");
  fs::create_directory_symlink(w.folder() / "elsewhere/a/r", w.results() / "a" / "linked");
  CHECK(contains(w.done({"list"}).out, "a/linked"));
  w.done({"gc", "--status", "completed", "--yes"});
  CHECK(fs::is_symlink(w.results() / "a" / "linked"));
  w.done({"rm", "a/linked", "--yes"}, {"was a link; the run stays: "});
  CHECK_FALSE(fs::is_symlink(w.results() / "a" / "linked"));
  CHECK(fs::exists(w.folder() / "elsewhere/a/r/summary.json"));
}

TEST_CASE("rm and gc select by tag and by condition") {
  const Workspace w("small.toml", kSaved);
  run_named(w, "a", {"--tag", "old"});
  run_named(w, "b", {"--set", "optimizer.lr=0.5"});
  w.refused({"rm", "--yes"}, {"names no run"});
  w.refused({"rm", "a", "--tag", "old", "--yes"}, {"selects by --tag or --where"});
  w.done({"rm", "--where", "optimizer.lr=0.5", "--yes"});
  CHECK_FALSE(fs::exists(w.results() / "b"));
  CHECK(fs::exists(w.results() / "a" / "r"));
  w.done({"gc", "--tag", "old", "--yes"});
  CHECK_FALSE(fs::exists(w.results() / "a"));
}

TEST_CASE("list shows the columns that are asked for") {
  const Workspace w("small.toml", kSmall);
  w.done({"run", "small.toml", "--name", "a", "--run-id", "r", "--set", "optimizer.lr=0.5"});
  const std::string out = w.done({"list", "--columns", "optimizer.lr,steps,val_loss"}).out;
  CHECK(contains(out, "optimizer.lr"));
  CHECK(contains(out, "0.5"));
  CHECK_FALSE(contains(out, "status"));
  w.refused({"list", "--columns", "optimizer.lrr"}, {"optimizer.lr"});
}

TEST_CASE("rm and gc keep a run that trains") {
  LongRun run({});
  const Workspace& w = run.workspace();
  w.refused({"rm", "small", "--yes"}, {"is running", "stop it first: "});
  w.done({"gc", "--older-than", "0m", "--yes"});
  CHECK(run.folder().exists());
  run.stop();
}

TEST_CASE("a removal that was killed is finished by the next one, and its rest is no run") {
  const Workspace w("small.toml", kSaved);
  run_named(w, "a");
  run_named(w, "b");
  fs::rename(w.results() / "a" / "r", w.results() / "a" / ".removed-r");
  CHECK(w.done({"list"}).out.find("a/") == std::string::npos);
  w.done({"rm", "b", "--yes"});
  CHECK_FALSE(fs::exists(w.results() / "a" / ".removed-r"));
}

TEST_CASE("gc keeps the newest and the best checkpoints and those that others begin with, or removes whole results") {
  const Workspace w("small.toml", kSaved);
  run_named(w, "a");
  REQUIRE(checkpoints_of(w, "a").size() == 4);
  w.done({"fork", "a", "--from", "14", "--set", "epochs=3", "--name", "child", "--run-id", "r"});
  w.refused({"gc"}, {"give --keep-last, --older-than, --status, --tag or --where"});
  w.refused({"gc", "--older-than", "old"}, {"write 30d, 12h or 45m"});
  w.done({"gc", "--keep-last", "1", "--dry-run"});
  CHECK(checkpoints_of(w, "a").size() == 4);
  w.done({"gc", "--keep-last", "1", "--yes"});
  CHECK(checkpoints_of(w, "a") == std::vector<std::string>{"step-00000014", "step-00000028"});
  w.done({"resume", "a", "--set", "epochs=5"});
  run_named(w, "bad", {"--set", "epochs=1"});
  w.refused({"rm", "a", "--yes"}, {"another run begins with one of its checkpoints"});
  w.done({"gc", "--older-than", "1d", "--yes"});
  CHECK(fs::exists(w.results() / "bad" / "r"));
  w.done({"rm", "a", "child", "--yes"});
  CHECK_FALSE(fs::exists(w.results() / "a"));
}

TEST_CASE("rm keeps runs that a sweep's parameters name, and looks for names in the results folder of the run") {
  const Workspace w("small.toml", kSaved);
  run_named(w, "a");
  run_named(w, "b");
  w.write("s.toml",
          "extends = \"small.toml\"\n[sweep]\nmethod = \"grid\"\n[sweep.parameters]\ninit_from = [\"a\", \"b\"]\n");
  w.done({"sweep", "s.toml", "--run-id", "one", "--trial", "0"});
  const std::string elsewhere = (w.folder() / "elsewhere").string();
  for (const char* run : {"a", "b"}) {
    w.refused({"rm", run, "--yes"}, {"another run begins with one of its checkpoints"});
    const std::string folder = (w.results() / run / "r").string();
    w.refused({"rm", folder, "--results", elsewhere, "--yes"}, {"another run begins with one of its checkpoints"});
  }
  w.done({"rm", "s", "a", "b", "--yes"});
}

TEST_CASE("list sorts by size on disk, and shows it then") {
  const Workspace w("small.toml", kSaved);
  run_named(w, "a");
  run_named(w, "b", {"--set", "epochs=1"});
  const std::string out = w.done({"list", "--sort", "-size"}).out;
  CHECK(out.find("size") != std::string::npos);
  CHECK(out.find("a/r") < out.find("b/r"));
  CHECK(w.done({"list"}).out.find("size") == std::string::npos);
}

}  // namespace ddp::system_test
