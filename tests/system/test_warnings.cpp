#include "catch.h"
#include "finished_run.h"
#include "looking.h"

namespace ddp::system_test {
namespace {

// The lr of a step (from 1), rounded for people.
std::string lr_of(const RunFolder& run, std::int64_t step) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g",
                run.events("step").at(static_cast<std::size_t>(step - 1)).at("lr").get<double>());
  return text;
}

}  // namespace

TEST_CASE("settings without effect are warnings before training, each once, with their place") {
  const Workspace w;
  // 51 samples per rank: 1 step per epoch, 4 steps.
  w.write("small.toml", kSmall + R"([scheduler]
name = "cosine"
warmup_steps = 4
[log]
every = 5
[checkpoint]
save_every_steps = 9
)");
  const Outcome run = w.done({"run", "small.toml", "--set", "batch_size=52"});
  for (const char* warning : {"warning: --set 1: \"batch_size\" cannot be reached: a rank has 51 samples",
                              "warning: small.toml:16:16: \"scheduler.warmup_steps\" is 4 steps",
                              "warning: small.toml:18:9: \"log.every\" is more than the 4 steps of the run",
                              "warning: small.toml:20:20: \"checkpoint.save_every_steps\" is more than the 4 steps"}) {
    INFO(warning);
    CHECK(count(run.err, warning) == 1);
  }
  CHECK(run.err.rfind("warning: ") < run.err.find("Epoch 0 done"));
  CHECK(count(run.err, "warning: ") == 4);
  const Outcome plan = w.run({"plan", "small.toml", "--set", "batch_size=52", "--json"});
  CHECK(Json::parse(plan.out).at("warnings").size() == 4);
  CHECK(count(plan.err, "warning: ") == 4);
}

TEST_CASE("a schedule that never changes lr and step settings that exceed an epoch are warnings") {
  const Workspace w("small.toml", kSmall);
  const Outcome never = w.run({"plan", "small.toml", "--set", "scheduler={name=\"step\", step_size=28}"});
  CHECK(contains(never.err, "\"scheduler.step_size\" never changes lr: the run has 28 steps"));
  CHECK(w.run({"plan", "small.toml", "--set", "scheduler={name=\"step\", step_size=27}"}).err.empty());
  const Outcome accumulate = w.run({"plan", "small.toml", "--set", "accumulate=8"});
  CHECK(contains(accumulate.err, "\"accumulate\" cannot be reached: an epoch has 7 micro-batches a rank"));
  const Outcome global = w.run({"plan", "small.toml", "--set", "batch_size=8", "--set", "accumulate=7"});
  CHECK(global.err.empty());
}

TEST_CASE("settings of the recipe without effect are warnings") {
  const Workspace w("small.toml", kSmall);
  const auto told = [&](const Words& sets) {
    const Words arguments = with_sets({"plan", "small.toml"}, sets);
    const Outcome plan = w.done(arguments);
    return plan.err;
  };
  CHECK(contains(told({"metrics=[\"mae\"]"}), "\"metrics\" has no effect: nothing is held out to measure on"));
  CHECK(told({"metrics=[\"mae\"]", "test.split=0.2"}).empty());
  CHECK(contains(told({"channels_last=true"}), "\"channels_last\" has no effect: it applies to convolutions"));
  const std::string frozen =
      told({"groups=[{match=\"0.*\", lr_scale=0.5}, {match=\"*.bias\", lr_scale=2.0}]", "freeze=[\"0.*\"]"});
  CHECK(contains(frozen, "\"groups[0]\" has no effect: all of its parameters are frozen"));
  CHECK_FALSE(contains(frozen, "groups[1]"));
}

TEST_CASE("milestones that are out of order for the length of the run are an error at their line") {
  const Workspace w;
  // 28 steps, 7 per epoch.
  w.write("small.toml", kSmall + "[scheduler]\nname = \"multistep\"\nmilestones = [\"3 epochs\", \"50%\"]\n");
  w.done({"validate", "small.toml"});
  const Outcome plan = w.refused({"plan", "small.toml"}, {});
  CHECK(contains(plan.err, "small.toml:16:14: \"scheduler.milestones\" are not in ascending order"));
  w.done({"plan", "small.toml", "--set", "epochs=8"});
}

TEST_CASE("an average without an update before its measurement is a warning") {
  const Workspace w;
  // 81 training samples, 6 steps per epoch, 24 in all.
  w.write("small.toml", kSmall + "[validation]\nsplit = 0.2\n");
  const auto told = [&](const std::string& every, const std::string& validation) {
    const Outcome plan = w.done({"plan", "small.toml", "--set", "ema.every=" + every, "--set", validation});
    return plan.err;
  };
  const std::string each_epoch = "validation.every=1";
  CHECK(
      contains(told("25", each_epoch),
               "\"ema.every\" is 25, and the run measures after step 6: it then measures the weights before training"));
  CHECK(contains(told("7", each_epoch), "\"ema.every\" is 7, and the run measures after step 6"));
  CHECK(told("6", each_epoch).empty());
  CHECK(contains(told("5", "validation.every=\"4 steps\""), "the run measures after step 4"));
  CHECK(told("4", "validation.every=\"4 steps\"").empty());
  CHECK(told("12", "validation.every=2").empty());
  CHECK(told("0", each_epoch).empty());
  CHECK(contains(told("29", "validation.split=0"), "\"ema.every\" is 29"));
}

TEST_CASE("a sweep warns once of settings common to all trials, and of each value without effect") {
  const Workspace w("s.toml", kSmall + "[log]\nevery = 1000\n[sweep.parameters]\nbatch_size = [8, 60, 70]\n");
  const Outcome plan = w.run({"plan", "s.toml", "--json"});
  INFO(plan.err);
  CHECK(count(plan.err, "\"batch_size\" cannot be reached") == 2);
  CHECK(Json::parse(plan.out).at("warnings").size() == count(plan.err, "warning: "));
}

TEST_CASE("an extended cosine run reports the new course of lr, which metrics.jsonl then shows") {
  const FinishedRun f(kSmall + "[scheduler]\nname = \"cosine\"\nmin_lr = 1e-5\n");
  const Outcome longer = f.resume({"small", "--set", "epochs=8"});
  CHECK(contains(longer.err, "warning: the schedule \"cosine\" now covers 8 epochs (56 steps): lr continues at " +
                                 lr_of(f.run, 29) + " (the old schedule gave 1e-05 for this step) and ends at " +
                                 lr_of(f.run, 56)));
  CHECK_FALSE(contains(f.resume({"small", "--set", "log.every=2"}).err, "lr goes on"));
}

TEST_CASE("after a resume with other ranks inside an epoch lr has the reported value") {
  // Stops 3 steps into the third epoch.
  const FinishedRun f(kSmall + "[scheduler]\nname = \"linear\"\n", {"steps=17"});
  const Outcome longer = f.resume({"small", "--set", "epochs=8", "--set", "device_pool=[\"cpu\"]"});
  const std::int64_t steps = f.run.last_step();
  CHECK(f.run.has_each_step_once(steps));
  CHECK(contains(longer.err, "now covers 8 epochs (" + std::to_string(steps) + " steps): lr continues at " +
                                 lr_of(f.run, 18) + " (the old schedule gave 0 for this step) and ends at " +
                                 lr_of(f.run, steps)));
}

TEST_CASE("a run whose schedule does not depend on its length is extended without a message about lr") {
  const FinishedRun f(kSmall + "[scheduler]\nname = \"step\"\nstep_size = 10\n");
  const Outcome longer = f.resume({"small", "--set", "epochs=8"});
  CHECK_FALSE(contains(longer.err, "lr goes on"));
}

}  // namespace ddp::system_test
