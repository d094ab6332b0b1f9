#include "catch.h"
#include "config/length.h"
#include "errors.h"
#include "schedule/scheduler.h"
#include "scratch.h"

namespace ddp::config {
namespace {

constexpr Length kLengthOfRun{.micro_batches_per_epoch = 16, .steps_per_epoch = 8, .steps = 30, .epochs = 4};

std::int64_t steps_in_run(const Value& part) { return steps_of(part, kLengthOfRun, "scheduler.warmup"); }

// Returns the error about a file with this text; the schedulers are the program's own.
std::string complaint_about(const std::string& text) {
  Components components;
  for (const char* kind : {"model", "dataset", "loss", "metric", "parallel", "optimizer"}) {
    for (const auto& [name, spec] : sample_components().of(kind)) components.add(kind, spec);
  }
  for (Spec& spec : schedule::schedulers().specs()) components.add("scheduler", std::move(spec));
  const Scratch scratch;
  scratch.write("x.toml", text);
  return error_of([&] { load("x.toml", {}, components); });
}

std::string complaint(const std::string& lines) { return complaint_about(kModelAndDataset + lines + "\n"); }

}  // namespace

TEST_CASE("a part of a run is steps, epochs, or a share of its steps, rounded half up, and at least 1") {
  CHECK(steps_in_run(7) == 7);
  CHECK(steps_in_run("7 steps") == 7);
  CHECK(steps_in_run("1 step") == 1);
  CHECK(steps_in_run("2 epochs") == 16);
  CHECK(steps_in_run("1 epoch") == 8);
  CHECK(steps_in_run("0.5 epochs") == 4);
  CHECK(steps_in_run("5%") == 2);    // 1.5
  CHECK(steps_in_run("15 %") == 5);  // 4.5
  CHECK(steps_in_run("1%") == 1);    // 0.3
  CHECK(steps_in_run("100%") == 30);
  for (const char* bad : {"", "5", "5 %%", "5%%", "0 steps", "0%", "101%", "-1%", "1.5 steps", "5epochs", "5  epochs",
                          "epochs", "1e3 steps", "nan%", ".5%", "5.%", "5 Epochs", "5 percent", "9999999999 steps"}) {
    INFO(bad);
    CHECK_FALSE(read_run_part(bad));
  }
}

TEST_CASE("a span of time is days, hours, minutes and seconds") {
  CHECK(read_time_span("2h30m") == 9000);
  CHECK(read_time_span("45s") == 45);
  CHECK(read_time_span("1d1s") == 86401);
  CHECK(read_time_span("90m") == 5400);
  for (const char* bad : {"", "0s", "2", "h", "30m2h", "2h2h", "2 h", "1.5h", "-1s", "2h30", "99999999999s"}) {
    INFO(bad);
    CHECK_FALSE(read_time_span(bad));
  }
}

TEST_CASE("an invalid part of a run or span of time is an error with its line") {
  for (const std::string bad : {"\"5 %%\"", "\"0 steps\"", "\"10 epoch s\"", "2.5", "-1"}) {
    INFO(bad);
    CHECK(contains(complaint("[scheduler]\nname = \"cosine\"\nwarmup = " + bad), "x.toml:5:10: "));
  }
  CHECK(contains(complaint("[scheduler]\nname = \"cosine\"\nwarmup = \"5 %%\""), "such as \"10 epochs\""));
  CHECK(contains(complaint("[scheduler]\nname = \"multistep\"\nmilestones = [3, \"4 hours\"]"), "milestones[1]\""));
  CHECK(complaint("[scheduler]\nname = \"multistep\"\nmilestones = [3, \"4 epochs\", \"50%\"]") == "");
  CHECK(contains(complaint("[scheduler]\nname = \"step\"\nstep_size = 0"), "\"scheduler.step_size\" must be "));
  CHECK(contains(complaint("[stop]\nmax_time = \"2 hours\""), "x.toml:4:12: \"stop.max_time\""));
  CHECK(complaint("[stop]\nmax_time = \"2h30m\"") == "");
}

TEST_CASE("milestones out of order are an error at the line of the misplaced one") {
  const auto said = [](const std::string& milestones, const std::string& more = "") {
    return complaint(more + "[scheduler]\nname = \"multistep\"\nmilestones = " + milestones);
  };
  CHECK(contains(said("[20, 10]"), "x.toml:5:19: \"scheduler.milestones\" are not in ascending order"));
  CHECK(contains(said("[20, 10]"), "give the earlier one first"));
  CHECK(contains(said("[\"2 epochs\", \"1 epoch\"]"), "x.toml:5:27"));
  CHECK(contains(said("[3, \"50%\", 2]"), "x.toml:5:25"));
  CHECK(contains(said("[60, \"50%\"]", "steps = 100\n"), "x.toml:6:19"));
  CHECK(said("[40, \"50%\"]", "steps = 100\n") == "");
  CHECK(said("[10, 10, 20]") == "");
}

TEST_CASE("a setting that counts epochs is an error at its line if the dataset has no epochs") {
  const auto said = [](const std::string& lines) {
    return complaint_about("model = \"linear\"\ndataset = \"random_batch\"\nsteps = 9\n" + lines + "\n");
  };
  CHECK(
      contains(said("[scheduler]\nname = \"cosine\"\nwarmup = \"1 epoch\""), "x.toml:6:10: dataset \"random_batch\""));
  CHECK(contains(said("[scheduler]\nname = \"multistep\"\nmilestones = [3, \"2 epochs\"]"), "x.toml:6:18: "));
  CHECK(contains(said("stop = { patience = 2 }"), "train_loss is known only at the end of an epoch"));
  CHECK(said("[scheduler]\nname = \"cosine\"\nwarmup = \"5%\"") == "");
}

TEST_CASE("warmup and warmup_steps together are an error") {
  CHECK(contains(complaint("[scheduler]\nname = \"cosine\"\nwarmup = \"5%\"\nwarmup_steps = 3"), "x.toml:6:1: "));
  CHECK(complaint("[scheduler]\nname = \"cosine\"\nwarmup = \"5%\"\nwarmup_steps = 0") == "");
}

TEST_CASE("a rule that follows a metric of validation needs a validation and a known metric") {
  CHECK(contains(complaint("[stop]\nmetric = \"val_loss\"\npatience = 2"), "x.toml:4:10: \"val_loss\" needs"));
  CHECK(contains(complaint("[stop]\nmetric = \"val_los\""), "did you mean \"val_loss\"?"));
  CHECK(complaint("[stop]\npatience = 2") == "");
  CHECK(complaint("[stop]\nmetric = \"val_loss\"\npatience = 2\n[validation]\nsplit = 0.5") == "");
  CHECK(contains(complaint("[scheduler]\nname = \"plateau\"\nmetric = \"val_loss\""), "needs held-out samples"));
  CHECK(contains(complaint("[scheduler]\nname = \"plateau\"\nmetric = \"val_los\"\n[validation]\nsplit = 0.5"),
                 "there is no metric \"val_los\""));
  CHECK(complaint("[scheduler]\nname = \"plateau\"") == "");
}

TEST_CASE("a patience that no run can reach is an error") {
  for (const char* key : {"patience", "cooldown"}) {
    CHECK(contains(complaint("[scheduler]\nname = \"plateau\"\n" + std::string(key) + " = 9223372036854775807"),
                   "must be an integer from 0 to 1000000000"));
  }
  CHECK(contains(complaint("stop.patience = 9223372036854775807"), "must be an integer from 0 to 1000000000"));
}

TEST_CASE("a plateau can follow a metric of a family, such as val_top5, if it is measured") {
  const auto following = [](const std::string& metric) {
    return complaint(
        "metrics = [\"top5\"]\nvalidation = { split = 0.5 }\n[scheduler]\nname = \"plateau\"\nmetric = \"" + metric +
        "\"");
  };
  CHECK(following("val_top5") == "");
  CHECK(contains(following("val_top3"), "\"val_top3\" is not measured"));
  CHECK(contains(following("val_topN"), "there is no metric \"val_topN\""));
  CHECK(contains(following("top5"), "there is no metric \"top5\""));
}

TEST_CASE("the option metric of a user's own scheduler is not checked") {
  Components components = sample_components();
  const Option metric{.name = "metric", .types = {Type::text}};
  components.add("scheduler", {.name = "mine", .options = {metric}});
  const Scratch scratch;
  scratch.write("x.toml", kModelAndDataset + "[scheduler]\nname = \"mine\"\nmetric = \"val_mine\"\n");
  CHECK(error_of([&] { load("x.toml", {}, components); }) == "");
}

}  // namespace ddp::config
