#include <fstream>

#include "catch.h"
#include "finished_run.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// 28 steps, saved every 5.
const std::string kSavesOften = kSmall + "[checkpoint]\nsave_every_steps = 5\nkeep_last = 100\n";

}  // namespace

TEST_CASE("a finished run has nothing to do, by any of its names") {
  const FinishedRun f(kSavesOften);
  const std::string id = f.run.path().filename();
  for (const std::string& name :
       Words{"small", "small/" + id, "latest", f.run.path(), "results/small/latest", "results/small/" + id + "/"}) {
    INFO(name);
    const Outcome again = f.resume({name}, {"nothing to do"});
    CHECK(fs::canonical(again.run.path()) == fs::canonical(f.run.path()));
    CHECK_FALSE(again.left);
  }
  f.check_unchanged();
  CHECK(f.run.summary().at("status") == "completed");
}

TEST_CASE("resume with fewer epochs than the run has done says so, and gives a longer setting") {
  const FinishedRun f(kSavesOften);
  f.resume({"small", "--set", "epochs=2"},
           {"nothing to do: this run has done its ", "train for longer with --set epochs=5, or more"});
}

TEST_CASE("resume --set epochs extends a finished run to the bits of a run that had them from the start") {
  const FinishedRun f(kSavesOften);
  f.resume({"small", "--set", "epochs=6"}, {"resuming after step 28"});
  CHECK(f.run.events("resume").size() == 1);
  CHECK(f.run.summary().at("epochs") == 6);
  CHECK(contains(text_of(f.run.path() / "config.toml"), "epochs = 6\n"));
  const Outcome whole = f.workspace.done({"run", "small.toml", "--set", "epochs=6", "--name", "whole"});
  check_same(f.run, whole.run);
}

TEST_CASE("resume --set steps extends a run whose file gave epochs") {
  const FinishedRun f(kSavesOften);
  f.resume({"small", "--set", "steps=31"});
  CHECK(f.run.has_each_step_once(31));
}

TEST_CASE("seconds continue over a resume, and without validation the last epoch is the best one") {
  const Workspace w("small.toml", kSmall);
  const Outcome run = w.done({"run", "small.toml", "--set", "epochs=2"});
  const Json before = run.run.summary();
  w.done({"resume", "small", "--set", "epochs=4"});
  const Json after = run.run.summary();
  CHECK(after.at("seconds").get<double>() > before.at("seconds").get<double>());
  CHECK(after.at("best").at("step") == 28);
  CHECK(after.at("best") == after.at("last"));
}

TEST_CASE("a resume --from a step returns to it and ends with the same bits") {
  const FinishedRun f(kSavesOften);
  f.resume({"small", "--from", "10"});
  f.check_unchanged();
}

TEST_CASE("a resume --from a step that is killed before it saves resumes from that step") {
  const FinishedRun f(kSavesOften);
  const auto process = f.workspace.start(
      {"resume", "small", "--from", "10", "--set", "epochs=1000000", "--set", "checkpoint.save_every_steps=100000000"});
  REQUIRE(wait_until([&] { return f.run.last_step() > 12 && !f.run.events("resume").empty(); }, process->pid()));
  process->kill();
  f.resume({"small", "--set", "epochs=4"});
  CHECK(f.run.has_each_step_once(28));
  CHECK(f.run.model() == f.model);
}

TEST_CASE("resume --from best returns to the checkpoint with the best metric") {
  const Workspace w("small.toml", kSmall + "[checkpoint]\nsave_every = 1\nkeep_last = 9\n");
  const Outcome run = w.done({"run", "small.toml", "--set", "epochs=2"});
  REQUIRE(w.run({"resume", "small", "--set", "epochs=4", "--set", "optimizer.lr=1e3", "--set", "on_nan=skip"}).code ==
          0);
  double least = 1e300;
  int best = 0;
  for (const Json& line : run.run.events("epoch")) {
    if (line.at("train_loss").is_null() || line.at("train_loss") >= least) continue;
    least = line.at("train_loss");
    best = line.at("step");
  }
  REQUIRE(best <= 14);
  w.done({"resume", "small", "--from", "best"}, {"resuming after step " + std::to_string(best) + ","});
  CHECK(run.run.has_each_step_once(28));
}

TEST_CASE("a checkpoint inside an epoch does not inherit the metric of the checkpoint that the run resumed from") {
  // Of the saves every 5 steps, only step 35 is at an epoch's end.
  const FinishedRun f(kSavesOften, {"epochs=5"});
  f.resume({"small", "--set", "steps=42", "--set", "optimizer.lr=1e3", "--set", "on_nan=skip"});
  f.resume({"small", "--from", "best"}, {"resuming after step 35,"});
}

TEST_CASE("a run that another process writes is refused with exit 2 and continues undisturbed") {
  const Workspace w("small.toml", kSmall);
  const auto process = w.start({"run", "small.toml", "--run-id", "busy", "--set", "epochs=1000000"});
  const RunFolder run = w.running(*process, "small", 3);
  for (const auto& arguments :
       {Words{"resume", "small"}, Words{"run", "small.toml", "--run-id", "busy", "--set", "epochs=1000000"}}) {
    w.refused(arguments, {"another process is writing this run"});
  }
  w.stop(*process);
  CHECK(run.has_each_step_once(run.last_step()));
}

TEST_CASE("an incomplete checkpoint is skipped") {
  const FinishedRun f(kSavesOften);
  fs::remove(f.run.checkpoint(28) / "COMPLETE");
  f.flip_a_byte(f.run.checkpoint(25) / "state.json");
  const fs::path half = f.run.path() / "checkpoints/.step-00000030.tmp/model.safetensors";
  f.workspace.write(fs::relative(half, f.workspace.folder()), "half");
  f.resume({"small"}, {"resuming after step 20, from checkpoints/step-00000020"});
  CHECK_FALSE(fs::exists(half));
  f.check_unchanged();
}

TEST_CASE("a run that has not completed and has no checkpoint starts over in place") {
  const FinishedRun f(kSavesOften);
  fs::remove_all(f.run.path() / "checkpoints");
  Json summary = f.run.summary();
  summary["status"] = "failed";
  std::ofstream(f.run.path() / "summary.json") << summary;
  f.resume({"small"});
  CHECK(f.run.has_each_step_once(28));
  CHECK(f.run.model() == f.model);
}

TEST_CASE("a completed run without a checkpoint is refused by resume, eval and fork, and stays unchanged") {
  const FinishedRun f(kSavesOften);
  fs::remove_all(f.run.path() / "checkpoints");
  for (const char* command : {"resume", "fork"}) {
    f.workspace.refused({command, "small", "--set", "epochs=5"},
                        {"the run has completed 28 steps, and no checkpoint of it is left"});
  }
  CHECK(contains(f.workspace.run({"eval", "small"}).err, "and no checkpoint of it is left"));
  CHECK(f.run.training() == f.training);
}

TEST_CASE("a completed run whose last checkpoint is gone says that steps are trained again") {
  const FinishedRun f(kSavesOften);
  fs::remove_all(f.run.checkpoint(28));
  f.resume({"small"},
           {"the run has completed 28 steps, and its newest checkpoint left is of step 25: steps 26 to 28 are "
            "trained again"});
  CHECK(f.run.training() == f.training);
}

TEST_CASE("a damaged checkpoint is named and skipped for the one before it", "[slow]") {
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json", "COMPLETE"}) {
    const FinishedRun f(kSavesOften);
    f.flip_a_byte(f.run.checkpoint(28) / name);
    f.resume({"small"}, {"step-00000028 is skipped", "resuming after step"});
    f.check_unchanged();
  }
}

TEST_CASE("a run whose checkpoints are all damaged is refused and stays unchanged") {
  const FinishedRun f(kSavesOften);
  for (const auto& entry : fs::directory_iterator(f.run.path() / "checkpoints")) {
    if (!entry.is_symlink()) f.flip_a_byte(entry.path() / "model.safetensors");
  }
  f.refused({"small", "--set", "epochs=5"}, {"model.safetensors is damaged", "this run has no undamaged checkpoint"});
  CHECK(f.run.training() == f.training);
}

}  // namespace ddp::system_test
