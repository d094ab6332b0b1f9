#include <set>

#include "catch.h"
#include "finished_run.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// 6 steps per epoch; four epochs.
const std::string kValidated = kSmall + "[validation]\nsplit = 0.1\n";
// In minutes: less than the time of a step.
const std::string kAlways = "checkpoint.save_every_minutes=0.00001";
const std::string kNever = "checkpoint.save_every_minutes=0";

// The steps whose checkpoint events have this reason; "": events without one.
std::vector<std::int64_t> saved_for(const RunFolder& run, const std::string& reason) {
  std::vector<std::int64_t> steps;
  for (const auto& line : run.events("checkpoint")) {
    if (line.value("reason", "") == reason) steps.push_back(line.at("step"));
  }
  return steps;
}

// The steps of the existing checkpoints and the reasons in their state.json.
std::map<std::int64_t, std::string> kept_in(const RunFolder& run) {
  std::map<std::int64_t, std::string> kept;
  for (const auto& entry : fs::directory_iterator(run.path() / "checkpoints")) {
    if (!entry.path().filename().string().starts_with("step-")) continue;
    const Json state = json_of(entry.path() / "state.json");
    kept[state.at("step")] = state.value("reason", "regular");
  }
  return kept;
}

// The steps at which a metric in the epochs' lines was smaller than ever before.
std::vector<std::int64_t> improvements(const RunFolder& run, const std::string& metric) {
  std::vector<std::int64_t> steps;
  double best = 1e300;
  for (const auto& line : run.events("epoch")) {
    if (!line.contains(metric) || line.at(metric).is_null() || line.at(metric) >= best) continue;
    best = line.at(metric);
    steps.push_back(line.at("step"));
  }
  return steps;
}

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("each validation that improves the metric saves, and the best checkpoint stays when later ones are worse") {
  const FinishedRun f(kValidated, {"epochs=3"});
  f.resume({"small", "--set", "epochs=8", "--set", "optimizer.lr=1e3", "--set", "on_nan=skip"});
  std::vector<std::int64_t> improved = improvements(f.run, "val_loss");
  const std::int64_t best = improved.back();
  REQUIRE(best <= 18);
  CHECK(f.run.summary().at("best").at("step") == best);
  // The last step of each command is a regular save with any metric.
  std::erase(improved, 18);
  CHECK(saved_for(f.run, "best") == improved);
  CHECK(saved_for(f.run, "") == std::vector<std::int64_t>{18, 48});
  CHECK(kept_in(f.run).contains(best));
  f.resume({"small", "--from", "best", "--set", "epochs=9"});
  CHECK(f.run.events("resume").back().at("step") == best);
}

TEST_CASE("the checkpoint that show calls the best is at the step with the best metric") {
  const FinishedRun f(kValidated, {"epochs=12", "optimizer.lr=0.5", "on_nan=skip"});
  const std::int64_t best = f.run.summary().at("best").at("step");
  const Json shown = Json::parse(f.workspace.run({"show", "small", "--json"}).out);
  std::set<std::int64_t> marked;
  for (const auto& checkpoint : shown.at("checkpoints")) {
    if (checkpoint.at("best")) marked.insert(checkpoint.at("step").get<std::int64_t>());
  }
  CHECK(marked == std::set<std::int64_t>{best});
  CHECK_FALSE(contains(f.workspace.run({"show", "small"}).out, "not saved"));
}

TEST_CASE("improvements of another metric save too, and with validation train_loss may be that metric") {
  const FinishedRun f(kValidated, {"epochs=6", "checkpoint.metric=train_loss", "validation.every=2"});
  std::vector<std::int64_t> validated;
  double best = 1e300;
  for (const auto& line : f.run.events("epoch")) {
    if (!line.contains("val_loss") || line.at("train_loss") >= best) continue;
    best = line.at("train_loss");
    validated.push_back(line.at("step"));
  }
  REQUIRE(validated.size() > 1);
  std::erase(validated, 36);
  CHECK(saved_for(f.run, "best") == validated);
}

TEST_CASE("without validation, or with keep_best = 0, no epoch saves because its metric is the best") {
  for (const auto& [file, set] :
       std::vector<std::pair<std::string, std::string>>{{kSmall, "epochs=4"}, {kValidated, "checkpoint.keep_best=0"}}) {
    const FinishedRun f(file, {set});
    CHECK(f.run.events("checkpoint").size() == 1);
    CHECK(saved_for(f.run, "").size() == 1);
    CHECK(contains(f.workspace.run({"show", "small"}).out, "(latest, best)"));
  }
}

TEST_CASE("a step that is saved for several reasons is saved once, with the strongest reason") {
  // save_every_steps names the last step of every epoch, and nearly every epoch improves.
  const FinishedRun f(kValidated, {"checkpoint.save_every_steps=6", kAlways});
  CHECK(saved_for(f.run, "best").empty());
  CHECK(saved_for(f.run, "") == std::vector<std::int64_t>{6, 12, 18, 24});
  // Inside an epoch, too: the validation of the same step judges the checkpoint.
  const FinishedRun inside(kValidated, {"checkpoint.save_every_steps=3", "validation.every=\"3 steps\"", "epochs=2",
                                        "checkpoint.keep_last=10"});
  CHECK(saved_for(inside.run, "best").empty());
  CHECK(saved_for(inside.run, "") == std::vector<std::int64_t>{3, 6, 9, 12});
  for (const auto& [step, reason] : kept_in(inside.run)) {
    INFO(step);
    CHECK(json_of(inside.run.checkpoint(step) / "state.json").at("metric").at("value").is_number());
  }
  const FinishedRun both(kValidated, {kAlways});
  std::set<std::int64_t> steps;
  for (const auto& line : both.run.events("checkpoint"))
    CHECK(steps.insert(line.at("step").get<std::int64_t>()).second);
  std::vector<std::int64_t> improved = improvements(both.run, "val_loss");
  std::erase(improved, 24);
  CHECK(saved_for(both.run, "best") == improved);
}

TEST_CASE("timed and best saves change no bit of training, on any kind and number of ranks", "[slow]") {
  for (const std::string ranks : {R"(device_pool=["cpu", "cpu"])", R"(device_pool=["cpu", "cpu", "cpu"])"}) {
    for (const std::string how : {"backend=shm", "backend=gloo", "parallel=data_parallel", "accumulate=2"}) {
      INFO(ranks << ", " << how);
      const Workspace w("small.toml", kValidated);
      const Words sets = {"--set", ranks, "--set", how};
      // On a slow disk no timed save may end within a given number of epochs.
      const auto process = w.start(Words{"run", "small.toml", "--set", "epochs=1000000", "--set", kAlways} + sets);
      const RunFolder run = w.running(*process, "small", 1);
      REQUIRE(wait_until([&] { return !saved_for(run, "time").empty() && !saved_for(run, "best").empty(); },
                         process->pid()));
      w.stop(*process);
      const std::string epochs = "epochs=" + std::to_string(run.events("epoch").size() + 2);
      w.done({"resume", "small", "--set", epochs});
      const Outcome without = w.done(Words{"run", "small.toml", "--name", "without", "--set", epochs, "--set", kNever,
                                           "--set", "checkpoint.keep_best=0"} +
                                     sets);
      CHECK(without.run.events("checkpoint").size() == 1);
      check_same(run, without.run);
    }
  }
}

TEST_CASE("only the newest timed save stays, and it takes no place of keep_last") {
  const Workspace w("small.toml", kSmall + "[checkpoint]\nsave_every = 3\nkeep_last = 2\n");
  const auto process = w.start({"run", "small.toml", "--set", "epochs=1000000", "--set", kAlways});
  const RunFolder run = w.running(*process, "small", 1);
  REQUIRE(
      wait_until([&] { return saved_for(run, "time").size() > 4 && saved_for(run, "").size() > 4; }, process->pid()));
  w.stop(*process);
  std::map<std::string, int> kept;
  for (const auto& [step, reason] : kept_in(run)) ++kept[reason];
  // The best regular checkpoint may be a third one.
  CHECK(kept["time"] == 1);
  CHECK(kept["regular"] >= 2);
  CHECK(kept["regular"] <= 3);
  CHECK(kept_in(run).contains(saved_for(run, "time").back()));
}

TEST_CASE("a run with only timed saves that is killed resumes from its newest save to the same bits") {
  const Workspace w("small.toml", kValidated);
  const auto process = w.start({"run", "small.toml", "--set", "epochs=1000000", "--set", kAlways});
  const RunFolder run = w.running(*process, "small", 1);
  const auto inside_epoch = [&] {
    const auto timed = saved_for(run, "time");
    return timed.size() > 2 && timed.back() % 6 != 0;
  };
  REQUIRE(wait_until(inside_epoch, process->pid()));
  process->kill();
  // A save counts once `latest` names it.
  const std::int64_t newest = json_of(run.path() / "checkpoints" / "latest" / "state.json").at("step");
  const std::string epochs = "epochs=" + std::to_string(newest / 6 + 2);
  w.done({"resume", "small", "--set", epochs});
  CHECK(run.events("resume").back().at("step") == newest);
  const Outcome whole = w.done({"run", "small.toml", "--name", "whole", "--set", epochs, "--set", kNever});
  CHECK(run.has_each_step_once(whole.run.last_step()));
  check_same(run, whole.run);
  // The best checkpoint of both runs is at the same step.
  CHECK(run.summary().at("best") == whole.run.summary().at("best"));
}

TEST_CASE("show prints the reason of each checkpoint, and says that a run without checkpoints starts over") {
  const Workspace w("small.toml", kSmall);
  const auto process = w.start({"run", "small.toml", "--set", "epochs=1000000"});
  w.running(*process, "small", 3);
  process->kill();
  CHECK(contains(w.run({"show", "small"}).out, "no checkpoint yet: resume starts over\n"));

  const FinishedRun f(kSmall, {"checkpoint.save_every_steps=5", "epochs=2", kNever});
  const std::string regular = f.workspace.run({"show", "small"}).out;
  INFO(regular);
  CHECK(contains(regular, "step-00000010  (regular)\n"));
  CHECK(contains(regular, "step-00000014  (latest, best)\n"));
  CHECK_FALSE(contains(regular, "no checkpoint"));

  const auto timed = w.start({"run", "small.toml", "--name", "timed", "--set", "epochs=1000000", "--set", kAlways});
  const RunFolder run = w.running(*timed, "timed", 1);
  REQUIRE(wait_until([&] { return !saved_for(run, "time").empty(); }, timed->pid()));
  w.stop(*timed);
  const std::string shown = w.run({"show", "timed"}).out;
  INFO(shown);
  CHECK(contains(shown, "  (time)\n"));
}

TEST_CASE("resume --from first reports the checkpoints and steps that it will remove, and how to keep them") {
  const FinishedRun f(kSmall + "[checkpoint]\nsave_every_steps = 5\nkeep_last = 100\n");
  const Outcome back = f.refused({"small", "--from", "15", "--set", "optimizer.lr=0.02", "--set", "name=\"two words\""},
                                 {});  // an invalid name
  const Outcome again = f.resume({"small", "--from", "15", "--set", "optimizer={name=\"sgd\", lr=0.02, momentum=0.9}"},
                                 {"going back to step 15: the lines of steps 16 to 28 in metrics.jsonl are removed now",
                                  "step-00000020, step-00000025, step-00000028"});
  const std::size_t at = again.err.find("ddp-exp fork ");
  REQUIRE(at != std::string::npos);
  const std::string command = again.err.substr(at, again.err.find('\n', at) - at);
  CHECK(contains(command, "--from 15"));
  // Quoted for a shell.
  const std::string program = DDP_EXP;
  const std::string line =
      "cd '" + f.workspace.folder().string() + "' && '" + program + "'" + command.substr(7) + " > out 2> err";
  INFO(line << text_of(f.workspace.folder() / "err"));
  CHECK(WEXITSTATUS(std::system(line.c_str())) == 0);
  CHECK_FALSE(contains(f.resume({"small", "--set", "epochs=5"}).err, "going back"));
  CHECK_FALSE(contains(f.resume({"small", "--from", "35", "--set", "epochs=6"}).err, "going back"));
}

TEST_CASE("a run that resumes without its average saves valid checkpoints") {
  const Workspace w(
      "averaged.toml",
      "model = { name = \"mlp\", hidden = [8] }\ndataset = \"random_pairs\"\nloss = \"mse\"\nthreads = 1\n"
      "device_pool = [\"cpu\"]\nema = { decay = 0.5 }\nepochs = 1\nvalidation = { split = 0.2 }\n");
  w.done({"run", "averaged.toml"});
  w.done({"resume", "averaged", "--set", "ema.every=0", "--set", "epochs=2"});
  w.done({"eval", "averaged", "--from", "latest"});
  const Outcome further = w.done({"resume", "averaged", "--set", "epochs=3"});
  CHECK_FALSE(contains(further.err, "is skipped"));
}

}  // namespace ddp::system_test
