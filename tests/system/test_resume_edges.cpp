#include "catch.h"
#include "finished_run.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// 3 ranks, 4 steps per epoch, saved at each: DDP lays out its buckets again at the second step.
const std::string kThree = R"(
dataset     = { name = "random_pairs", size = 240 }
optimizer   = { name = "sgd", lr = 0.01, momentum = 0.9 }
device_pool = ["cpu", "cpu", "cpu"]
backend     = "gloo"
batch_size  = 20
epochs      = 2
threads     = 1
[model]
name = "mlp"
in_features = 20
hidden = [16]
out_features = 1
[checkpoint]
save_every_steps = 1
keep_last = 50
)";

// 2 ranks, one epoch of 6 steps, saved at each.
const std::string kTwo = R"(
dataset     = { name = "random_pairs", size = 48, features = 6 }
optimizer   = { name = "sgd", lr = 0.01, momentum = 0.9 }
batch_size  = 4)" + kEachStepSaved;

// The contents of all files that a refused resume must not change, by name.
std::map<std::string, std::string> kept_of(const RunFolder& run) {
  std::map<std::string, std::string> files;
  for (const char* name : {"config.toml", "metrics.jsonl"}) files[name] = text_of(run.path() / name);
  for (const auto& entry : fs::recursive_directory_iterator(run.path() / "checkpoints")) {
    if (entry.is_symlink()) {
      files[entry.path()] = fs::read_symlink(entry.path());
    } else {
      files[entry.path()] = entry.is_directory() ? "a folder" : text_of(entry.path());
    }
  }
  return files;
}

}  // namespace

TEST_CASE("three ranks resumed from their first and second step end with the bits of an uninterrupted run") {
  const FinishedRun f(kThree);
  REQUIRE(f.run.has_each_step_once(8));
  for (const char* step : {"1", "2", "4", "5"}) {
    INFO("from " << step);
    const Outcome again = f.resume({"small", "--from", step});
    INFO(again.err);
    REQUIRE(again.code == 0);
    CHECK(f.run.training() == f.training);
    CHECK(f.run.model() == f.model);
  }
}

TEST_CASE("three ranks resumed twice in a row end with the bits of an uninterrupted run") {
  const FinishedRun f(kThree);
  const Outcome once = f.resume({"small", "--from", "2", "--set", "steps=3"});
  INFO(once.err);
  REQUIRE(once.code == 0);
  CHECK(f.run.has_each_step_once(3));
  const Outcome twice = f.resume({"small", "--set", "epochs=2"});
  INFO(twice.err);
  REQUIRE(twice.code == 0);
  CHECK(contains(twice.err, "resuming after step 3"));
  CHECK(f.run.training() == f.training);
  CHECK(f.run.model() == f.model);
}

TEST_CASE("a run that is resumed by a link or with a slash at its end keeps its own name") {
  const FinishedRun f(kTwo);
  const std::string id = f.run.path().filename();
  REQUIRE(f.run.summary().at("run_id") == id);
  int steps = 6;
  for (const std::string& name : std::vector<std::string>{
           "results/small/latest/", "results/small/latest", "small/latest", "small/latest/", "latest",
           (f.workspace.results() / "small/latest/").string(), "results/small/" + id + "/", "small/" + id + "/"}) {
    INFO(name);
    const Outcome again = f.resume({name, "--set", "steps=" + std::to_string(++steps)});
    INFO(again.err);
    REQUIRE(again.code == 0);
    CHECK_FALSE(contains(again.out, "latest"));
    CHECK(again.run.path().filename() == id);
    CHECK(fs::canonical(again.run.path()) == fs::canonical(f.run.path()));
    CHECK(f.run.summary().at("run_id") == id);
    CHECK(f.run.summary().at("steps") == steps);
  }
  // The link still names the folder, not itself.
  CHECK(fs::canonical(f.workspace.results() / "small/latest") == fs::canonical(f.run.path()));
}

TEST_CASE("a run with given first weights that is killed before it saves resumes from these weights") {
  const Workspace w;
  w.write("small.toml", kSmall);
  w.write("seeded.toml", kSmall + "\n");
  const Outcome source = w.run({"run", "seeded.toml", "--set", "seed=7", "--set", "epochs=1"});
  REQUIRE(source.code == 0);
  w.write("given.safetensors", source.run.model());
  const Outcome whole = w.run({"run", "small.toml", "--name", "whole", "--init-from", "given.safetensors"});
  INFO(whole.err);
  REQUIRE(whole.code == 0);
  const Outcome drawn = w.run({"run", "small.toml", "--name", "drawn"});
  REQUIRE(drawn.code == 0);
  REQUIRE(drawn.run.model() != whole.run.model());

  const auto process = w.start({"run", "small.toml", "--init-from", "given.safetensors", "--set", "epochs=1000000"});
  const RunFolder run = w.running(*process, "small", 3);
  process->signal(SIGKILL);
  REQUIRE(wait_until([&] { return process->all_gone(); }));
  REQUIRE_FALSE(fs::exists(run.path() / "checkpoints/latest"));
  CHECK(contains(text_of(run.path() / "config.toml"), "[init_from]"));
  CHECK(contains(text_of(run.path() / "config.toml"), "given.safetensors"));
  const Outcome again = w.run({"resume", "small", "--set", "epochs=4"});
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK(run.has_each_step_once(28));
  CHECK(run.training() == whole.run.training());
  CHECK(run.model() == whole.run.model());
}

TEST_CASE("missing weights end with exit 2 and write nothing") {
  const Workspace w;
  w.write("small.toml", kSmall);
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"run", "small.toml", "--init-from", "gone.safetensors"},
                                             {"run", "small.toml", "--set", "init_from=\"gone.safetensors\""},
                                             {"plan", "small.toml", "--set", "init_from=\"gone.safetensors\""}}) {
    const Outcome refused = w.run(arguments);
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "gone.safetensors"));
    CHECK_FALSE(fs::exists(w.results()));
  }
}

TEST_CASE("a resume whose optimizer or model does not fit the checkpoint exits with 2 and changes nothing", "[slow]") {
  struct Change {
    std::string before;
    std::string after;
  };
  for (const auto& [before, after] : std::vector<Change>{
           {"optimizer.momentum=0.9", "optimizer={name=\"adam\",lr=0.01}"},
           {"optimizer={name=\"adam\",lr=0.01}", "optimizer.amsgrad=true"},
           {"optimizer={name=\"adam\",lr=0.01}", "optimizer={name=\"sgd\",lr=0.01,momentum=0.9}"},
           {"optimizer.momentum=0.9", "model.hidden=[12]"},
           {"optimizer.momentum=0.9", "model.hidden=[8,8]"},
       }) {
    INFO(before << " then " << after);
    const FinishedRun f(kTwo, {before});
    const auto kept = kept_of(f.run);
    const Outcome refused = f.resume({"small", "--set", "epochs=2", "--set", after});
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK_FALSE(refused.err.empty());
    CHECK_FALSE(refused.left);
    CHECK(kept_of(f.run) == kept);
    // The unchanged run can still resume.
    CHECK(f.resume({"small", "--set", "epochs=2"}).code == 0);
    CHECK(f.run.has_each_step_once(12));
  }
}

TEST_CASE("a resume with another optimizer is refused with the values before and now, and the checkpoint") {
  const FinishedRun f(kTwo);
  const Outcome set = f.resume({"small", "--set", "epochs=2", "--set", "optimizer={name=\"adam\",lr=0.01}"});
  INFO(set.err);
  CHECK(set.code == 2);
  CHECK(contains(set.err, "--set 2: "));
  CHECK(contains(set.err, "does not fit this change: optimizer.name was \"sgd\", now \"adam\""));
  CHECK(contains(set.err, "checkpoints/step-00000006 has \"state."));
  CHECK(contains(set.err, "--init-from "));
  const Outcome groups = f.resume({"small", "--set", "epochs=2", "--set", "groups=[{match=\"*.bias\", momentum=0.0}]"});
  INFO(groups.err);
  CHECK(contains(groups.err, "does not fit this change: groups was [], now [{"));
  const fs::path config = f.run.path() / "config.toml";
  std::string edited = text_of(config);
  edited.replace(edited.find("momentum = 0.9"), 14, "momentum = 0.0");
  f.workspace.write(fs::relative(config, f.workspace.folder()), edited);
  const Outcome by_hand = f.resume({"small", "--set", "epochs=2"});
  INFO(by_hand.err);
  CHECK(by_hand.code == 2);
  CHECK(contains(by_hand.err, "config.toml:"));
  CHECK(contains(by_hand.err, "does not fit this change: optimizer.momentum was 0.9, now 0.0"));
  CHECK(contains(by_hand.err, "checkpoints/step-00000006 has"));
}

TEST_CASE("a finished run without its final summary is completed by a resume that has nothing to train") {
  const FinishedRun f(kTwo);
  const Json whole = f.run.summary();
  REQUIRE(whole.at("status") == "completed");
  Json summary = whole;
  summary["status"] = "running";
  summary["steps"] = 0;
  f.workspace.write(fs::relative(f.run.path() / "summary.json", f.workspace.folder()), summary.dump());
  const Outcome again = f.resume({"small"});
  INFO(again.err);
  CHECK(again.code == 0);
  const Json after = f.run.summary();
  CHECK(after.at("status") == "completed");
  CHECK(after.at("steps") == 6);
  CHECK(after.at("final").at("train_loss") == whole.at("final").at("train_loss"));
  CHECK(f.run.training() == f.training);
  CHECK(f.run.model() == f.model);
}

TEST_CASE("the first save after a return to a step removes all later checkpoints and no earlier one") {
  const FinishedRun f(kTwo);
  for (int step = 1; step <= 6; ++step) REQUIRE(fs::exists(f.run.checkpoint(step)));
  const Outcome other =
      f.resume({"small", "--from", "2", "--set", "checkpoint.save_every_steps=100", "--set", "steps=5"});
  INFO(other.err);
  REQUIRE(other.code == 0);
  CHECK(f.run.has_each_step_once(5));
  for (int step : {1, 2, 5}) {
    INFO(step);
    CHECK(fs::exists(f.run.checkpoint(step) / "COMPLETE"));
  }
  for (int step : {3, 4, 6}) {
    INFO(step);
    CHECK_FALSE(fs::exists(f.run.checkpoint(step)));
  }
  CHECK(fs::read_symlink(f.run.path() / "checkpoints/latest") == "step-00000005");
}

TEST_CASE("a setting that would change the order of samples inside an epoch is refused by its key") {
  const FinishedRun f(kTwo);
  const auto kept = kept_of(f.run);
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"batch_size", "2"}, {"loader.sampler_seed", "9"}, {"loader.shuffle", "false"}}) {
    INFO(key);
    const Outcome refused = f.resume({"small", "--from", "3", "--set", key + "=" + value});
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, key));
    CHECK(kept_of(f.run) == kept);
  }
  // At the end of an epoch no sample is left to skip.
  const Outcome allowed = f.resume({"small", "--set", "batch_size=2", "--set", "epochs=2"});
  INFO(allowed.err);
  CHECK(allowed.code == 0);
}

}  // namespace ddp::system_test
