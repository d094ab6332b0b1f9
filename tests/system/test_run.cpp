#include <algorithm>
#include <cmath>
#include <regex>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

const std::string kBasic = DDP_SOURCE "/experiments/basic.toml";

Words keys_of(const Json& object) {
  Words keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

}  // namespace

TEST_CASE("a run of basic.toml leaves exactly the documented results and prints only its directory") {
  const Workspace w;
  const Outcome run = w.done({"run", kBasic});
  CHECK(std::regex_match(run.out, std::regex("results/basic/[0-9]{8}-[0-9]{6}-[0-9a-z]{4}\n")));
  CHECK(run.run.listing() == Words{"checkpoints/",
                                   "checkpoints/latest@",
                                   "checkpoints/step-00000288/",
                                   "checkpoints/step-00000288/COMPLETE",
                                   "checkpoints/step-00000288/model.safetensors",
                                   "checkpoints/step-00000288/optimizer.safetensors",
                                   "checkpoints/step-00000288/settings.toml",
                                   "checkpoints/step-00000288/state.json",
                                   "checkpoints/step-00000320/",
                                   "checkpoints/step-00000320/COMPLETE",
                                   "checkpoints/step-00000320/model.safetensors",
                                   "checkpoints/step-00000320/optimizer.safetensors",
                                   "checkpoints/step-00000320/settings.toml",
                                   "checkpoints/step-00000320/state.json",
                                   "config.toml",
                                   "logs/",
                                   "logs/rank-0.log",
                                   "logs/rank-1.log",
                                   "metrics.jsonl",
                                   "summary.json",
                                   "tensorboard/",
                                   "tensorboard/events.out.tfevents"});
  CHECK(fs::read_symlink(run.run.path() / "checkpoints/latest") == "step-00000320");
  CHECK(fs::canonical(w.results() / "basic/latest") == fs::canonical(run.run.path()));
  for (int rank : {0, 1}) {
    const std::string line = "[CPU" + std::to_string(rank) + "] Epoch 0 | Batchsize: 32 | Steps: 32\n";
    CHECK(contains(run.run.log(rank), line));
  }
  CHECK_FALSE(contains(run.err, "\033"));
}

TEST_CASE("metrics.jsonl has each step once with the documented members and the samples of all ranks") {
  const Workspace w("small.toml", kSmall + "[validation]\nsplit = 0.1\n[checkpoint]\nsave_every = 2\n");
  const Outcome run = w.done({"run", "small.toml"});
  // 101 samples, 10 held out, 91 over 2 ranks: 46 each (one twice), 5 full batches of 8 and one of 6.
  REQUIRE(run.run.has_each_step_once(24));
  double seconds = 0;
  for (const auto& line : run.run.events("step")) {
    CHECK(keys_of(line) == Words{"epoch", "event", "loss", "lr", "samples", "samples_per_second", "seconds", "step"});
    const int step = line.at("step");
    CHECK(line.at("epoch") == (step - 1) / 6);
    CHECK(line.at("samples") == (step % 6 == 0 ? 12 : 16));
    CHECK(line.at("lr") == 0.01);
    CHECK(line.at("loss").get<double>() > 0);
    CHECK(line.at("seconds").get<double>() >= seconds);
    seconds = line.at("seconds");
  }
  const auto epochs = run.run.events("epoch");
  REQUIRE(epochs.size() == 4);
  for (std::size_t e = 0; e < epochs.size(); ++e) {
    CHECK(epochs[e].at("epoch") == e);
    CHECK(epochs[e].at("step") == 6 * (e + 1));
    CHECK(epochs[e].at("samples") == 92);
    CHECK(epochs[e].at("train_loss").is_number());
    CHECK(epochs[e].at("val_loss").is_number());
    CHECK_FALSE(epochs[e].contains("val_accuracy"));
  }
  // Regular saves after epochs 0 and 2 and at the end; a validation that is the best so far saves too.
  std::vector<int> saved;
  for (const auto& line : run.run.events("checkpoint")) {
    if (!line.contains("reason")) saved.push_back(line.at("step"));
  }
  CHECK(saved == std::vector<int>{6, 18, 24});
}

TEST_CASE("a save is due every given number of steps, also inside an epoch") {
  const Workspace w("small.toml", kSmall + "[checkpoint]\nsave_every_steps = 7\nkeep_last = 9\n");
  const Outcome run = w.done({"run", "small.toml", "--set", "steps=25"});
  std::vector<int> saved;
  for (const auto& line : run.run.events("checkpoint")) saved.push_back(line.at("step"));
  CHECK(saved == std::vector<int>{7, 14, 21, 25});
}

TEST_CASE("an epoch's train_loss is the mean of its steps over all samples") {
  const Workspace w("small.toml", kSmall);
  const Outcome run = w.done({"run", "small.toml"});
  double sum = 0;
  double samples = 0;
  for (const auto& line : run.run.events("step")) {
    if (line.at("epoch") != 0) continue;
    sum += line.at("loss").get<double>() * line.at("samples").get<double>();
    samples += line.at("samples").get<double>();
  }
  CHECK(std::abs(run.run.events("epoch").at(0).at("train_loss").get<double>() / (sum / samples) - 1) < 1e-12);
}

TEST_CASE("summary.json has the end of a run, its devices and its result") {
  const Workspace w("small.toml", kSmall);
  const Outcome run = w.done({"run", "small.toml"});
  const Json s = run.run.summary();
  CHECK(s.at("status") == "completed");
  CHECK(s.at("name") == "small");
  CHECK(s.at("run_id") == run.run.path().filename().string());
  CHECK(s.at("epochs") == 4);
  CHECK(s.at("steps") == 28);
  CHECK(s.at("final").at("train_loss") == run.run.events("epoch").back().at("train_loss"));
  CHECK(s.at("best").at("metric") == "train_loss");
  CHECK(s.at("best").at("step").is_number_integer());
  CHECK(s.at("seconds").get<double>() > 0);
  CHECK(s.at("world_size") == 2);
  CHECK(s.at("devices") == Json{"cpu", "cpu"});
  CHECK(s.at("backend") == "shm");
  CHECK(s.at("versions").contains("libtorch"));
  CHECK(s.contains("git"));
  CHECK(s.at("config_hash").is_string());
  CHECK(s.at("restarts") == 0);
  CHECK(s.at("error").is_null());
}

TEST_CASE("a run of the config.toml that a run wrote repeats it bit for bit") {
  const Workspace w("small.toml", kSmall);
  const Outcome first = w.done({"run", "small.toml", "--set", "optimizer.lr=0.02"});
  const Outcome again = w.done({"run", first.run.path() / "config.toml"});
  CHECK(again.run.path() != first.run.path());
  check_same(again.run, first.run);
  CHECK(text_of(again.run.path() / "config.toml") == text_of(first.run.path() / "config.toml"));
  CHECK(again.run.summary().at("config_hash") == first.run.summary().at("config_hash"));
}

TEST_CASE("an assignment by --set changes keys, and --name and --results choose the place of a run") {
  const Workspace w("small.toml", kSmall);
  const Outcome run =
      w.done({"run", "small.toml", "--set", "epochs=2", "--set", "seed=7", "--name", "7", "--results", "my results"});
  CHECK(run.out.starts_with("my results/7/"));
  CHECK(run.run.has_each_step_once(14));
  CHECK(run.run.summary().at("name") == "7");
  CHECK(contains(text_of(run.run.path() / "config.toml"), "seed = 7\n"));
  CHECK_FALSE(fs::exists(w.results()));
}

TEST_CASE("a command with --run-id creates its run and then resumes it") {
  const Workspace w("small.toml", kSmall);
  const Words command{"run", "small.toml", "--run-id", "job-17"};
  const Outcome first = w.done(command);
  CHECK(first.out == "results/small/job-17\n");
  const std::string model = first.run.model();
  const Outcome second = w.done(command);
  CHECK(second.out == first.out);
  CHECK(contains(second.err, "nothing to do"));
  CHECK(second.run.model() == model);
  const Outcome longer = w.done({"run", "small.toml", "--run-id", "job-17", "--set", "epochs=5"});
  CHECK(longer.run.has_each_step_once(35));
}

TEST_CASE("an empty run directory is used by its --run-id, as after a kill before its first file") {
  const Workspace w("small.toml", kSmall);
  fs::create_directories(w.results() / "small/job-18/logs");
  const Outcome run = w.done({"run", "small.toml", "--run-id", "job-18"});
  CHECK(run.run.has_each_step_once(28));
}

TEST_CASE("a dry run shows the plan and writes nothing") {
  const Workspace w("small.toml", kSmall);
  const Outcome dry = w.done({"run", "small.toml", "--dry-run", "--run-id", "x"});
  CHECK(contains(dry.out, "28 (7 per epoch, 4 epochs)"));
  CHECK(contains(dry.out, "rank 1: cpu"));
  CHECK_FALSE(fs::exists(w.results()));
  const Json plan = Json::parse(w.run({"plan", "small.toml", "--json"}).out);
  CHECK(plan.at("world_size") == 2);
  CHECK(plan.at("steps") == 28);
  CHECK(plan.at("parameters") == 6 * 8 + 8 + 8 * 2 + 2);
  CHECK_FALSE(fs::exists(w.results()));
}

TEST_CASE("init_from starts a new run with the weights of another run") {
  const Workspace w("small.toml", kSmall);
  const Outcome first = w.done({"run", "small.toml"});
  // A learning rate of 0 keeps the first weights.
  for (const char* from : {"checkpoints/latest", "checkpoints/latest/model.safetensors"}) {
    const Outcome second = w.done({"run", "small.toml", "--set", "optimizer.lr=0", "--set", "seed=1", "--set",
                                   "epochs=1", "--init-from", first.run.path() / from});
    CHECK(second.run.has_each_step_once(7));
    CHECK(second.run.model() == first.run.model());
  }
}

TEST_CASE("a loss that is not finite stops the run with its place, and keeps the step before it") {
  const Workspace w("small.toml", kSmall);
  const Outcome run =
      w.ends(1, {"run", "small.toml", "--set", "optimizer.lr=1e38", "--set", "checkpoint.save_every_steps=1"});
  const Json last = run.run.events("step").back();
  CHECK(last.at("loss").is_null());
  CHECK(last.at("finite") == false);
  CHECK_FALSE(run.run.events("step").front().contains("finite"));
  const std::string said = "the loss of step " + last.at("step").dump() + " is not finite";
  CHECK(contains(run.err, said));
  CHECK(run.err.find(said) == run.err.rfind(said));
  CHECK(contains(run.err, "give a smaller lr"));
  CHECK(contains(w.run({"show", "latest"}).out, " --set optimizer.lr=…"));
  const Json summary = run.run.summary();
  CHECK(summary.at("status") == "failed");
  CHECK(summary.at("error").at("rank").get<int>() >= 0);
  CHECK_FALSE(run.left);
  REQUIRE(last.at("step") > 1);
  const Json saved = run.run.events("checkpoint").back();
  CHECK(saved.at("step") == last.at("step").get<int>() - 1);
  CHECK(fs::exists(run.run.checkpoint(saved.at("step")) / "COMPLETE"));
}

TEST_CASE("if the experiment says so, a step whose loss is not finite leaves the weights unchanged") {
  const Workspace w("small.toml", kSmall);
  const Words arguments{"run",   "small.toml",  "--set", "optimizer.lr=1e38",
                        "--set", "on_nan=skip", "--set", "model.dropout=0"};
  const Outcome run = w.done(arguments);
  CHECK(run.run.has_each_step_once(28));
  CHECK(contains(run.err, "is not finite"));
  const auto steps = run.run.events("step");
  const auto finite = std::count_if(steps.begin(), steps.end(), [](const Json& s) { return s.at("loss").is_number(); });
  REQUIRE(finite > 0);
  REQUIRE(finite < 28);
  auto until_then = arguments;
  for (const std::string& word : {std::string("--set"), "steps=" + std::to_string(finite)}) until_then.push_back(word);
  const Outcome before = w.done(until_then);
  CHECK(before.run.model() == run.run.model());
}

}  // namespace ddp::system_test
