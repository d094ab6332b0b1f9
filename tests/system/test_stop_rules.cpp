#include <algorithm>

#include "finished_run.h"
#include "looking.h"
#include "struck.h"

namespace ddp::system_test {
namespace {

// 81 training samples, 6 steps per epoch, and a validation after each.
const std::string kValidated = kSmall + "[validation]\nsplit = 0.2\n";
// No loss improves by this much: the first validation is the best one.
const std::string kImpatient = "[stop]\npatience = 2\nmin_delta = 1e9\n";

std::vector<double> rates_of(const RunFolder& run) {
  std::vector<double> rates;
  for (const Json& step : run.events("step")) rates.push_back(step.at("lr"));
  return rates;
}

}  // namespace

TEST_CASE("patience ends a run that no longer improves, and a resume says so") {
  const FinishedRun f(kValidated + kImpatient + "[test]\nsplit = 0.1\n", {"epochs=50"});
  const Json summary = f.run.summary();
  CHECK(summary.at("status") == "completed");
  CHECK(summary.at("stopped_by") == "patience");
  CHECK(summary.at("epochs") == 3);
  CHECK(summary.at("test").at("values").contains("test_loss"));
  CHECK(json_of(f.run.path() / "checkpoints/latest/state.json").at("ended_by") == "patience");
  f.resume({"small"}, {"this run has ended after step ", "by stop.patience; continue it with --set stop.patience="});
  f.resume({"small", "--set", "epochs=60"});
  CHECK(f.run.summary().at("epochs") == 3);
  CHECK(contains(f.workspace.run({"list"}).out, "completed (patience)"));
  CHECK(contains(f.workspace.run({"show", "small"}).out, "completed (patience)"));
  CHECK(Json::parse(f.workspace.run({"show", "small", "--json"}).out).at("stopped_by") == "patience");
}

TEST_CASE("a run that gets more patience resumes to the bits of a run that had it from the start") {
  const FinishedRun f(kValidated + kImpatient, {"epochs=50"});
  f.resume({"small", "--set", "stop.patience=4"});
  CHECK(f.run.summary().at("epochs") == 5);
  CHECK(f.run.summary().at("stopped_by") == "patience");
  const FinishedRun whole(kValidated + kImpatient, {"epochs=50", "stop.patience=4"});
  CHECK(f.run.training() == whole.training);
  CHECK(f.run.model() == whole.model);
}

TEST_CASE("patience that is exhausted at the last step also ends a run that gets more steps, as from the start") {
  const FinishedRun f(kValidated + kImpatient, {"epochs=3"});
  CHECK(f.run.summary().at("stopped_by").is_null());
  f.resume({"small", "--set", "epochs=20"},
           {"this run has ended after step 18, by stop.patience; continue it with --set stop.patience="});
  CHECK(f.run.last_step() == 18);
  CHECK(contains(f.workspace.run({"fork", "small", "--set", "epochs=20"}).err, "stop.patience has ended the run"));
  CHECK(contains(f.resume({"small"}).err, "has done its 18 steps"));
  const FinishedRun whole(kValidated + kImpatient, {"epochs=20"});
  CHECK(whole.run.last_step() == 18);
  CHECK(f.run.model() == whole.model);
  f.resume({"small", "--set", "epochs=20", "--set", "stop.patience=4"});
  CHECK(f.run.summary().at("epochs") == 5);
  CHECK(f.run.summary().at("stopped_by") == "patience");
}

TEST_CASE("a run that a rule ends names the rule at its end, and a run with all of its steps does not") {
  const Workspace w("small.toml", kValidated + kImpatient);
  CHECK(contains(w.run({"run", "small.toml", "--set", "epochs=50"}).err, "Ended after step 18 by stop.patience"));
  CHECK_FALSE(contains(w.run({"run", "small.toml", "--set", "epochs=3"}).err, "Ended after step"));
  const Outcome timed = w.run({"run", "small.toml", "--set", "epochs=1000000", "--set", "stop.patience=0", "--set",
                               "stop.max_time=1s", "--set", "log.tensorboard=false"});
  CHECK(contains(timed.err, "Ended after step " + std::to_string(timed.run.last_step()) + " by stop.max_time"));
}

TEST_CASE("a run with more patience names the reason of its end: all of its steps, or patience again") {
  const FinishedRun f(kValidated + kImpatient, {"epochs=5"});
  REQUIRE(contains(f.resume({"small"}).err, "has ended after step 18, by stop.patience"));
  // To its last step, with patience left.
  f.resume({"small", "--set", "stop.patience=9"});
  CHECK(f.run.last_step() == 30);
  CHECK(contains(f.resume({"small"}).err, "has done its 30 steps"));
  CHECK(contains(f.workspace.run({"fork", "small"}).err, "all steps are done at this checkpoint, of step 30"));
  // With more steps, the raised patience ends the run at the last one.
  f.resume({"small", "--set", "epochs=20"}, {"Ended after step 60 by stop.patience"});
  CHECK(contains(f.resume({"small"}).err, "has ended after step 60, by stop.patience"));
  CHECK(contains(f.workspace.run({"fork", "small"}).err, "stop.patience has ended the run at this"));
}

TEST_CASE("patience inside an epoch ends the run at that validation") {
  const FinishedRun f(kValidated + kImpatient, {"epochs=50", "validation.every=\"4 steps\""});
  CHECK(f.run.last_step() == 12);
  CHECK(f.run.summary().at("stopped_by") == "patience");
  CHECK(f.run.events("validation").size() + f.run.events("epoch").size() >= 3);
}

TEST_CASE("patience without validation follows train_loss at the ends of epochs") {
  const FinishedRun f(kSmall + kImpatient, {"epochs=50"});
  CHECK(f.run.summary().at("epochs") == 3);
  CHECK(f.run.summary().at("stopped_by") == "patience");
}

TEST_CASE("a run ends when its time is up, on all ranks after the same step, and continues when it gets more") {
  const FinishedRun f(kValidated + "[stop]\nmax_time = \"1s\"\n[log]\ntensorboard = false\n", {"epochs=1000000"});
  const Json summary = f.run.summary();
  CHECK(summary.at("status") == "completed");
  CHECK(summary.at("stopped_by") == "max_time");
  CHECK(summary.at("seconds") >= 1.0);
  CHECK(summary.at("steps") == f.run.last_step());
  CHECK(summary.at("final").contains("val_loss"));
  f.resume({"small"}, {"by stop.max_time; continue it with --set stop.max_time="});
  const std::string steps = std::to_string(f.run.last_step() + 5);
  f.resume({"small", "--set", "stop.max_time=1d", "--set", "steps=" + steps});
  CHECK(f.run.summary().at("stopped_by").is_null());
  CHECK(std::to_string(f.run.last_step()) == steps);
}

TEST_CASE("a killed run whose lr follows a plateau resumes to the bits of an uninterrupted run") {
  const Workspace w;
  // No validation meets the threshold: each second validation halves lr.
  w.write("small.toml", kValidated + R"([scheduler]
name = "plateau"
factor = 0.5
patience = 1
threshold = 0.9
warmup = 8
[stop]
patience = 100000
min_delta = 1e9
[checkpoint]
save_every_steps = 5
)");
  const KilledAndWhole runs = kill_and_resume(w, "small");
  const auto rates = rates_of(runs.whole);
  CHECK(rates.at(3) == 0.01 * 4 / 8);
  CHECK(*std::min_element(rates.begin() + 8, rates.end()) < 0.006);
  const auto state = [](const RunFolder& run) { return json_of(run.path() / "checkpoints/latest/state.json"); };
  CHECK(state(runs.killed).at("rules") == state(runs.whole).at("rules"));
  CHECK(state(runs.killed).at("rules").at("scheduler").at("lr") < 0.006);
}

TEST_CASE("a plateau lowers lr with train_loss too, the same on every number of ranks") {
  const std::string file = kSmall + "[scheduler]\nname = \"plateau\"\nfactor = 0.5\npatience = 0\nthreshold = 0.9\n";
  const FinishedRun f(file, {"epochs=6"});
  const auto rates = rates_of(f.run);
  CHECK(rates.front() == 0.01);
  CHECK(rates.back() < 0.01);
  // Both ranks had the same lr: DDP keeps their weights equal, and so a resume on one rank starts from them.
  f.resume({"small", "--set", "epochs=7", "--set", "device_pool=[\"cpu\"]"});
}

TEST_CASE("rules without effect and invalid parts of a run are reported before training") {
  const Workspace w("small.toml", kValidated + "[stop]\npatience = 9\n[scheduler]\nname = \"plateau\"\n");
  const Outcome plan = w.run({"plan", "small.toml"});
  CHECK(contains(plan.err, "\"stop.patience\" never ends the run: the run has 3 values of val_loss before its end"));
  CHECK(contains(plan.err, "the run has 3 values of val_loss before its end, and it needs 12"));
  CHECK_FALSE(contains(w.run({"plan", "small.toml", "--set", "epochs=13"}).err, "never"));
}

TEST_CASE("a warm-up as a share replaces inherited steps, and the other way round") {
  const std::string cosine = kSmall + "[scheduler]\nname = \"cosine\"\n";
  const FinishedRun share(cosine + "warmup_steps = 2\n", {"scheduler.warmup=\"25%\""});
  CHECK(rates_of(share.run).front() == 0.01 * 1 / 7);
  const FinishedRun steps(cosine + "warmup = \"25%\"\n", {"scheduler.warmup_steps=2"});
  CHECK(rates_of(steps.run).front() == 0.01 * 1 / 2);
}

TEST_CASE("a warm-up in epochs or as a share rises for the right number of steps") {
  // 7 steps per epoch, 28 in all.
  for (const auto& [part, steps] : {std::pair{"\"1 epoch\"", 7}, {"\"25%\"", 7}, {"7", 7}, {"\"10%\"", 3}}) {
    INFO(part);
    const FinishedRun f(kSmall, {std::string("scheduler={name=\"cosine\", warmup=") + part + "}"});
    const auto rates = rates_of(f.run);
    CHECK(rates.front() == 0.01 * 1 / steps);
    CHECK(rates.at(static_cast<std::size_t>(steps)) == 0.01);
    CHECK(rates.at(static_cast<std::size_t>(steps) + 1) < 0.01);
  }
}

}  // namespace ddp::system_test
