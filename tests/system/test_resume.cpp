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
  for (const std::string& name : std::vector<std::string>{"small", "small/" + id, "latest", f.run.path(),
                                                          "results/small/latest", "results/small/" + id + "/"}) {
    INFO(name);
    const Outcome again = f.resume({name});
    INFO(again.err);
    CHECK(again.code == 0);
    CHECK(contains(again.err, "nothing to do"));
    CHECK(fs::canonical(again.run.path()) == fs::canonical(f.run.path()));
    CHECK_FALSE(again.left);
  }
  CHECK(f.run.model() == f.model);
  CHECK(f.run.training() == f.training);
  CHECK(f.run.summary().at("status") == "completed");
}

TEST_CASE("resume with fewer epochs than the run has done says so, and gives a longer setting") {
  const FinishedRun f(kSavesOften);
  const Outcome again = f.resume({"small", "--set", "epochs=2"});
  CHECK(again.code == 0);
  CHECK(contains(again.err, "nothing to do: this run has done its "));
  CHECK(contains(again.err, "train for longer with --set epochs=5, or more"));
}

TEST_CASE("resume --set epochs extends a finished run to the bits of a run that had them from the start") {
  const FinishedRun f(kSavesOften);
  const Outcome longer = f.resume({"small", "--set", "epochs=6"});
  INFO(longer.err);
  REQUIRE(longer.code == 0);
  CHECK(contains(longer.err, "resuming after step 28"));
  CHECK(f.run.events("resume").size() == 1);
  CHECK(f.run.summary().at("epochs") == 6);
  CHECK(contains(text_of(f.run.path() / "config.toml"), "epochs = 6\n"));
  const Outcome whole = f.workspace.run({"run", "small.toml", "--set", "epochs=6", "--name", "whole"});
  REQUIRE(whole.code == 0);
  CHECK(f.run.training() == whole.run.training());
  CHECK(f.run.model() == whole.run.model());
}

TEST_CASE("resume --set steps extends a run whose file gave epochs") {
  const FinishedRun f(kSavesOften);
  const Outcome longer = f.resume({"small", "--set", "steps=31"});
  INFO(longer.err);
  REQUIRE(longer.code == 0);
  CHECK(f.run.has_each_step_once(31));
}

TEST_CASE("seconds continue and the best value of an extended run is the best of all its epochs") {
  const Workspace w;
  w.write("small.toml", kSmall);
  const Outcome run = w.run({"run", "small.toml", "--set", "epochs=2"});
  REQUIRE(run.code == 0);
  const Json before = run.run.summary();
  REQUIRE(w.run({"resume", "small", "--set", "epochs=4", "--set", "optimizer.lr=1e3", "--set", "on_nan=skip"}).code ==
          0);
  const Json after = run.run.summary();
  CHECK(after.at("seconds").get<double>() > before.at("seconds").get<double>());
  double best = 1e300;
  std::int64_t step = 0;
  for (const auto& line : run.run.events("epoch")) {
    if (line.at("train_loss").is_null() || line.at("train_loss").get<double>() >= best) continue;
    best = line.at("train_loss");
    step = line.at("step");
  }
  REQUIRE(step <= 14);
  CHECK(after.at("best").at("value") == best);
  CHECK(after.at("best").at("step") == step);
}

TEST_CASE("a resume --from a step returns to it and ends with the same bits") {
  const FinishedRun f(kSavesOften);
  const Outcome again = f.resume({"small", "--from", "10"});
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK(f.run.has_each_step_once(28));
  CHECK(f.run.training() == f.training);
  CHECK(f.run.model() == f.model);
}

TEST_CASE("a resume --from a step removes the later checkpoints") {
  const FinishedRun f(kSavesOften);
  const Outcome other =
      f.resume({"small", "--from", "10", "--set", "steps=17", "--set", "checkpoint.save_every_steps=3"});
  INFO(other.err);
  REQUIRE(other.code == 0);
  CHECK(f.run.has_each_step_once(17));
  for (int step : {5, 10, 12, 15, 17}) CHECK(fs::exists(f.run.checkpoint(step)));
  for (int step : {20, 25, 28}) CHECK_FALSE(fs::exists(f.run.checkpoint(step)));
  // A second resume starts from the new checkpoints.
  CHECK(contains(f.resume({"small"}).err, "has done its 17 steps"));
}

TEST_CASE("a resume --from a step that is killed before it saves resumes from that step") {
  const FinishedRun f(kSavesOften);
  const auto process = f.workspace.start(
      {"resume", "small", "--from", "10", "--set", "epochs=1000000", "--set", "checkpoint.save_every_steps=100000000"});
  REQUIRE(wait_until([&] { return f.run.last_step() > 12 && !f.run.events("resume").empty(); }, process->pid()));
  process->signal(SIGKILL);
  REQUIRE(wait_until([&] { return process->all_gone(); }));
  const Outcome again = f.resume({"small", "--set", "epochs=4"});
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK(f.run.has_each_step_once(28));
  CHECK(f.run.model() == f.model);
}

TEST_CASE("resume --from best returns to the checkpoint with the best metric") {
  const Workspace w;
  w.write("small.toml", kSmall + "[checkpoint]\nsave_every = 1\nkeep_last = 9\n");
  const Outcome run = w.run({"run", "small.toml", "--set", "epochs=2"});
  REQUIRE(run.code == 0);
  REQUIRE(w.run({"resume", "small", "--set", "epochs=4", "--set", "optimizer.lr=1e3", "--set", "on_nan=skip"}).code ==
          0);
  const int best = run.run.summary().at("best").at("step");
  REQUIRE(best <= 14);
  const Outcome again = w.run({"resume", "small", "--from", "best"});
  CHECK(again.code == 0);
  CHECK(contains(again.err, "resuming after step " + std::to_string(best) + ","));
  CHECK(run.run.has_each_step_once(28));
}

TEST_CASE("a checkpoint inside an epoch does not inherit the metric of the checkpoint that the run resumed from") {
  // Of the saves every 5 steps, only step 35 is at an epoch's end.
  const FinishedRun f(kSavesOften, {"epochs=5"});
  REQUIRE(f.resume({"small", "--set", "steps=42", "--set", "optimizer.lr=1e3", "--set", "on_nan=skip"}).code == 0);
  const Outcome again = f.resume({"small", "--from", "best"});
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK(contains(again.err, "resuming after step 35,"));
}

TEST_CASE("a step without a checkpoint is refused with the existing ones") {
  const FinishedRun f(kSavesOften);
  const Outcome refused = f.resume({"small", "--from", "11"});
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "5, 10, 15, 20, 25, 28"));
  CHECK(f.run.training() == f.training);
}

TEST_CASE("a run that another process writes is refused with exit 2 and continues undisturbed") {
  const Workspace w;
  w.write("small.toml", kSmall);
  const auto process = w.start({"run", "small.toml", "--run-id", "busy", "--set", "epochs=1000000"});
  const RunFolder run = w.running(*process, "small", 3);
  using Arguments = std::vector<std::string>;
  for (const auto& arguments :
       {Arguments{"resume", "small"}, Arguments{"run", "small.toml", "--run-id", "busy", "--set", "epochs=1000000"}}) {
    const Outcome refused = w.run(arguments);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "another process is writing this run"));
    CHECK_FALSE(refused.left);
  }
  process->signal(SIGTERM);
  CHECK(w.finish(*process).code == 143);
  CHECK(run.has_each_step_once(run.last_step()));
}

TEST_CASE("an incomplete checkpoint is skipped") {
  const FinishedRun f(kSavesOften);
  fs::remove(f.run.checkpoint(28) / "COMPLETE");
  f.flip_a_byte(f.run.checkpoint(25) / "state.json");
  const fs::path half = f.run.path() / "checkpoints/.step-00000030.tmp/model.safetensors";
  f.workspace.write(fs::relative(half, f.workspace.folder()), "half");
  const Outcome again = f.resume({"small"});
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK(contains(again.err, "resuming after step 20, from checkpoints/step-00000020"));
  CHECK_FALSE(fs::exists(half));
  CHECK(f.run.has_each_step_once(28));
  CHECK(f.run.training() == f.training);
  CHECK(f.run.model() == f.model);
}

TEST_CASE("a run that has not completed and has no checkpoint starts over in place") {
  const FinishedRun f(kSavesOften);
  fs::remove_all(f.run.path() / "checkpoints");
  Json summary = f.run.summary();
  summary["status"] = "failed";
  std::ofstream(f.run.path() / "summary.json") << summary;
  const Outcome again = f.resume({"small"});
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK(f.run.has_each_step_once(28));
  CHECK(f.run.model() == f.model);
}

TEST_CASE("a completed run without a checkpoint is refused by resume, eval and fork, and stays unchanged") {
  const FinishedRun f(kSavesOften);
  fs::remove_all(f.run.path() / "checkpoints");
  for (const char* command : {"resume", "fork"}) {
    const Outcome refused = f.workspace.run({command, "small", "--set", "epochs=5"});
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "the run has completed 28 steps, and no checkpoint of it is left"));
  }
  CHECK(contains(f.workspace.run({"eval", "small"}).err, "and no checkpoint of it is left"));
  CHECK(f.run.training() == f.training);
}

TEST_CASE("a completed run whose last checkpoint is gone says that steps are trained again") {
  const FinishedRun f(kSavesOften);
  fs::remove_all(f.run.checkpoint(28));
  const Outcome again = f.resume({"small"});
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK(contains(again.err,
                 "the run has completed 28 steps, and its newest checkpoint left is of step 25: steps 26 to 28 are "
                 "trained again"));
  CHECK(f.run.training() == f.training);
}

TEST_CASE("a damaged checkpoint is named and skipped for the one before it", "[slow]") {
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json", "COMPLETE"}) {
    const FinishedRun f(kSavesOften);
    f.flip_a_byte(f.run.checkpoint(28) / name);
    const Outcome again = f.resume({"small"});
    INFO(again.err);
    REQUIRE(again.code == 0);
    CHECK(contains(again.err, "step-00000028 is skipped"));
    CHECK(contains(again.err, "resuming after step"));
    CHECK(f.run.has_each_step_once(28));
    CHECK(f.run.training() == f.training);
    CHECK(f.run.model() == f.model);
  }
}

TEST_CASE("a run whose checkpoints are all damaged is refused and stays unchanged") {
  const FinishedRun f(kSavesOften);
  for (const auto& entry : fs::directory_iterator(f.run.path() / "checkpoints")) {
    if (!entry.is_symlink()) f.flip_a_byte(entry.path() / "model.safetensors");
  }
  const Outcome refused = f.resume({"small", "--set", "epochs=5"});
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "model.safetensors is damaged"));
  CHECK(contains(refused.err, "this run has no undamaged checkpoint"));
  CHECK(f.run.training() == f.training);
}

}  // namespace ddp::system_test
