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
    f.resume({"small", "--from", step});
    f.check_unchanged();
  }
}

TEST_CASE("three ranks resumed twice in a row end with the bits of an uninterrupted run") {
  const FinishedRun f(kThree);
  f.resume({"small", "--from", "2", "--set", "steps=3"});
  CHECK(f.run.has_each_step_once(3));
  f.resume({"small", "--set", "epochs=2"}, {"resuming after step 3"});
  f.check_unchanged();
}

TEST_CASE("a run that is resumed by a link or with a slash at its end keeps its own name") {
  const FinishedRun f(kTwo);
  const std::string id = f.run.path().filename();
  REQUIRE(f.run.summary().at("run_id") == id);
  int steps = 6;
  for (const std::string& name :
       Words{"results/small/latest/", "results/small/latest", "small/latest", "small/latest/", "latest",
             (f.workspace.results() / "small/latest/").string(), "results/small/" + id + "/", "small/" + id + "/"}) {
    INFO(name);
    const Outcome again = f.resume({name, "--set", "steps=" + std::to_string(++steps)});
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
  const Workspace w("small.toml", kSmall);
  w.write("seeded.toml", kSmall + "\n");
  const Outcome source = w.done({"run", "seeded.toml", "--set", "seed=7", "--set", "epochs=1"});
  w.write("given.safetensors", source.run.model());
  const Outcome whole = w.done({"run", "small.toml", "--name", "whole", "--init-from", "given.safetensors"});
  const Outcome drawn = w.done({"run", "small.toml", "--name", "drawn"});
  REQUIRE(drawn.run.model() != whole.run.model());

  const auto process = w.start({"run", "small.toml", "--init-from", "given.safetensors", "--set", "epochs=1000000"});
  const RunFolder run = w.running(*process, "small", 3);
  process->kill();
  REQUIRE_FALSE(fs::exists(run.path() / "checkpoints/latest"));
  CHECK(contains(text_of(run.path() / "config.toml"), "[init_from]"));
  CHECK(contains(text_of(run.path() / "config.toml"), "given.safetensors"));
  w.done({"resume", "small", "--set", "epochs=4"});
  CHECK(run.has_each_step_once(28));
  check_same(run, whole.run);
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
    const Outcome refused = f.refused({"small", "--set", "epochs=2", "--set", after}, {});
    CHECK_FALSE(refused.err.empty());
    CHECK_FALSE(refused.left);
    CHECK(kept_of(f.run) == kept);
    // The unchanged run can still resume.
    f.resume({"small", "--set", "epochs=2"});
    CHECK(f.run.has_each_step_once(12));
  }
}

TEST_CASE("a resume with another optimizer is refused with the values before and now, and the checkpoint") {
  const FinishedRun f(kTwo);
  const Outcome set = f.refused({"small", "--set", "epochs=2", "--set", "optimizer={name=\"adam\",lr=0.01}"},
                                {"--set 2: ", "does not fit this change: optimizer.name was \"sgd\", now \"adam\"",
                                 "checkpoints/step-00000006 has \"state.", "--init-from "});
  f.refused({"small", "--set", "epochs=2", "--set", "groups=[{match=\"*.bias\", momentum=0.0}]"},
            {"does not fit this change: groups was [], now [{"});
  const fs::path config = f.run.path() / "config.toml";
  std::string edited = text_of(config);
  edited.replace(edited.find("momentum = 0.9"), 14, "momentum = 0.0");
  f.workspace.write(fs::relative(config, f.workspace.folder()), edited);
  f.refused({"small", "--set", "epochs=2"},
            {"config.toml:", "does not fit this change: optimizer.momentum was 0.9, now 0.0",
             "checkpoints/step-00000006 has"});
}

TEST_CASE("a finished run without its final summary is completed by a resume that has nothing to train") {
  const FinishedRun f(kTwo);
  const Json whole = f.run.summary();
  REQUIRE(whole.at("status") == "completed");
  Json summary = whole;
  summary["status"] = "running";
  summary["steps"] = 0;
  f.workspace.write(fs::relative(f.run.path() / "summary.json", f.workspace.folder()), summary.dump());
  f.resume({"small"});
  const Json after = f.run.summary();
  CHECK(after.at("status") == "completed");
  CHECK(after.at("steps") == 6);
  CHECK(after.at("final").at("train_loss") == whole.at("final").at("train_loss"));
  f.check_unchanged();
}

TEST_CASE("a run that was killed between its last save and its measurements has both after a resume") {
  std::string file = kSmall + "[validation]\nsplit = 0.2\n[test]\nsplit = 0.2\n";
  const std::string epochs_given = "epochs      = 4";
  file.replace(file.find(epochs_given), epochs_given.size(), "steps = 9");  // the last one cuts an epoch short
  const FinishedRun f(file);
  const auto epochs = [&] {
    Json lines = f.run.events("epoch");
    for (Json& line : lines) {
      std::erase_if(line.get_ref<Json::object_t&>(), [](const auto& one) {
        return one.first.starts_with("seconds") || one.first == "samples_per_second";
      });
    }
    return lines;
  };
  const Json lines = epochs();
  REQUIRE(lines.size() == 3);
  Json summary = json_of(f.run.path() / "summary.json");
  const Json test = summary.at("test");
  summary["status"] = "running";
  f.workspace.write(fs::relative(f.run.path() / "summary.json", f.workspace.folder()).string(), summary.dump());
  fs::remove(f.run.path() / "evaluation.json");
  f.resume({"small"});
  CHECK(epochs() == lines);
  CHECK(json_of(f.run.path() / "summary.json").at("test") == test);
  CHECK(fs::exists(f.run.path() / "evaluation.json"));
  f.check_unchanged();
}

TEST_CASE("the first save after a return to a step removes all later checkpoints and no earlier one") {
  const FinishedRun f(kTwo);
  for (int step = 1; step <= 6; ++step) REQUIRE(fs::exists(f.run.checkpoint(step)));
  f.resume({"small", "--from", "2", "--set", "checkpoint.save_every_steps=100", "--set", "steps=5"});
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
    f.refused({"small", "--from", "3", "--set", key + "=" + value}, {key});
    CHECK(kept_of(f.run) == kept);
  }
  // At the end of an epoch no sample is left to skip.
  f.resume({"small", "--set", "batch_size=2", "--set", "epochs=2"});
}

}  // namespace ddp::system_test
