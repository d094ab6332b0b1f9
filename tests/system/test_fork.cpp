#include "catch.h"
#include "finished_run.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// 28 steps, saved every 5.
const std::string kForkable = kSmall + "[checkpoint]\nsave_every_steps = 5\nkeep_last = 100\n";

// The contents of all files that a fork must not change, by name.
std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    files[entry.path()] = entry.is_symlink()     ? fs::read_symlink(entry.path()).string()
                          : entry.is_directory() ? "a folder"
                                                 : text_of(entry.path());
  }
  return files;
}

// Returns the lines of a run's training after a step.
std::string trained_after(const RunFolder& run, std::int64_t step) {
  std::string text;
  for (const auto& line : run.events("step")) {
    if (line.at("step") <= step) continue;
    for (const char* key : {"epoch", "step", "loss", "lr", "samples"}) text += line.at(key).dump() + " ";
    text += '\n';
  }
  return text;
}

Outcome fork_of(const FinishedRun& f, const Words& words, const Words& said = {}) {
  return f.workspace.done(joined({"fork", "small/origin"}, words), said);
}

// A finished run small/origin.
struct OriginRun : FinishedRun {
  explicit OriginRun(const std::string& file, const Words& sets = {}) : FinishedRun(file, sets) {
    fs::rename(run.path(), workspace.results() / "small/origin");
    run = RunFolder(workspace.results() / "small/origin");
  }
};

}  // namespace

TEST_CASE("a fork from a step ends with the bits of its origin and has only its own steps, each once") {
  const OriginRun f(kForkable);
  const auto before = files_below(f.run.path());
  for (const std::string step : {"5", "10", "25"}) {
    INFO("from " << step);
    const Outcome fork = fork_of(f, {"--from", step});
    CHECK(fork.run.path() != f.run.path());
    CHECK(fork.run.model() == f.model);
    CHECK(fork.run.training() == trained_after(f.run, std::stoi(step)));
    CHECK_FALSE(fork.run.training().empty());
    const Json first = fork.run.events().front();
    CHECK(first.at("event") == "resume");
    CHECK(first.at("step") == std::stoi(step));
    CHECK(first.at("origin").at("run") == "small/origin");
    CHECK(first.at("origin").at("step") == std::stoi(step));
    CHECK(fork.run.events("resume").size() == 1);
    const Json summary = fork.run.summary();
    CHECK(summary.at("origin") == first.at("origin"));
    CHECK(summary.at("origin").at("checkpoint") == f.run.checkpoint(std::stoi(step)).filename().string());
    CHECK(summary.at("steps") == 28);
    CHECK(summary.at("status") == "completed");
  }
  CHECK(files_below(f.run.path()) == before);
  CHECK(f.run.summary().at("origin").is_null());
}

TEST_CASE("a fork trains with its own settings, under the given name and id, from the newest checkpoint") {
  const OriginRun f(kForkable);
  const Outcome fork =
      fork_of(f, {"--set", "epochs=6", "--set", "optimizer.lr=0.02", "--name", "other", "--run-id", "a"});
  INFO(fork.err);
  REQUIRE(fork.code == 0);
  CHECK(fork.out == "results/other/a\n");
  CHECK(fork.run.events().front().at("changes").at("optimizer.lr") == Json::parse("[0.01, 0.02]"));
  f.resume({"small/origin", "--set", "epochs=6", "--set", "optimizer.lr=0.02"});
  CHECK(fork.run.model() == f.run.model());
  CHECK(fork.run.training() == trained_after(f.run, 28));
  const std::string shown = f.workspace.run({"show", "other"}).out;
  INFO(shown);
  CHECK(contains(shown, "forked"));
  CHECK(contains(shown, "after step 28 of small/origin"));
  CHECK(Json::parse(f.workspace.run({"show", "other", "--json"}).out).at("origin").at("run") == "small/origin");
  // The same command again resumes it.
  fork_of(f, {"--set", "epochs=7", "--name", "other", "--run-id", "a"}, {"resuming after step 42"});
  // But it does not resume a run that is not a fork, or a fork of another run.
  f.workspace.refused({"fork", "other/a", "--from", "42", "--name", "small", "--run-id", "origin"}, {});
}

TEST_CASE("a fork that is killed before its first save resumes to the bits of resume --from") {
  const OriginRun f(kForkable);
  const Words sets{
      "--set", "optimizer.lr=0.02", "--set", "epochs=1000000", "--set", "checkpoint.save_every_steps=100000000"};
  const Words arguments = joined({"fork", "small/origin", "--from", "10", "--name", "forked"}, sets);
  const auto process = f.workspace.start(arguments);
  const RunFolder run = f.workspace.running(*process, "forked", 13);
  process->kill();
  const Outcome shown = f.workspace.run({"show", "forked"});
  CHECK(contains(shown.out, "step-00000010  (latest"));
  for (const std::string name : {"forked", "forked"}) {
    f.resume({name, "--set", "epochs=4"});
  }
  CHECK(run.summary().at("origin").at("run") == "small/origin");
  CHECK(run.events().front().at("origin").at("step") == 10);
  f.resume({"small/origin", "--from", "10", "--set", "optimizer.lr=0.02"});
  CHECK(run.training() == trained_after(f.run, 10));
  CHECK(run.model() == f.run.model());
}

TEST_CASE("a fork whose rank is killed starts again from its first checkpoint") {
  const OriginRun f(kForkable);
  const auto process =
      f.workspace.start({"fork", "small/origin", "--from", "10", "--name", "forked", "--max-restarts", "1", "--set",
                         "epochs=1000000", "--set", "checkpoint.save_every_steps=100000000"});
  const RunFolder run = f.workspace.running(*process, "forked", 13);
  REQUIRE(process->wait_for_ranks(2));
  kill(process->ranks().at(1), SIGKILL);
  REQUIRE(wait_until([&] { return !run.events("restart").empty(); }));
  process->signal(SIGINT);
  CHECK(process->wait() == 130);
  REQUIRE(run.events("restart").size() == 1);
  CHECK(run.events("restart").front().at("step") == 10);
  CHECK(run.summary().at("origin").at("step") == 10);
}

TEST_CASE("the best checkpoint of a fork is the best of its own, and of its first one too") {
  const OriginRun f(kSmall + "[validation]\nsplit = 0.1\n", {"epochs=3"});
  Json best = f.run.summary().at("best");
  best.erase("train_loss");  // its line is in the other run
  const Outcome fork = fork_of(f, {"--from", "best", "--set", "epochs=8", "--set", "optimizer.lr=1e3", "--set",
                                   "on_nan=skip", "--name", "worse"});
  CHECK(fork.run.events().front().at("step") == best.at("step"));
  CHECK(fork.run.summary().at("best") == best);
  CHECK(fs::exists(fork.run.checkpoint(best.at("step")) / "COMPLETE"));
  const std::string shown = f.workspace.run({"show", "worse"}).out;
  INFO(shown);
  CHECK_FALSE(contains(shown, "not saved"));
}

TEST_CASE("an invalid fork is refused with exit 2 and leaves nothing") {
  const OriginRun f(kForkable);
  f.workspace.write(
      "sweep.toml",
      "extends = \"small.toml\"\n[sweep]\nmethod = \"grid\"\n[sweep.parameters]\n\"optimizer.lr\" = [0.1]\n");
  f.workspace.done({"sweep", "sweep.toml", "--run-id", "1", "--set", "epochs=1"});
  f.workspace.done({"run", "small.toml", "--name", "bare", "--set", "epochs=1"});
  fs::remove_all(f.workspace.results() / "bare/latest/checkpoints");
  const auto before = files_below(f.workspace.results());
  for (const auto& [arguments, said] : std::vector<std::pair<Words, std::string>>{
           {{"small/origin"}, "all steps are done at this checkpoint, of step 28"},
           {{"small/origin", "--from", "11"}, "5, 10, 15, 20, 25, 28"},
           {{"small/origin", "--from", "10", "--set", "batch_size=4"}, "inside an epoch"},
           {{"small/origin", "--from", "10", "--set", "model.hidden=[9]"}, "step-00000010"},
           {{"small/origin", "--from", "10", "--run-id", "a/b"}, "cannot be a run id"},
           {{"sweep/1"}, "this is a sweep, not a run"},
           {{"bare"}, "no checkpoint of it is left"},
           {{"gone"}, "no such run"}}) {
    const Words words = joined({"fork"}, arguments);
    f.workspace.refused(words, {said});
  }
  CHECK(files_below(f.workspace.results()) == before);
}

TEST_CASE("a fork of a trial does not take the name of the sweep") {
  const Workspace w("small.toml", kSmall);
  w.write("sweep.toml",
          "extends = \"small.toml\"\n[sweep]\nmethod = \"grid\"\n[sweep.parameters]\n\"optimizer.lr\" = [0.1]\n");
  w.done({"sweep", "sweep.toml", "--run-id", "1", "--set", "epochs=1"});
  const Outcome fork = w.done({"fork", "sweep/1/trials/000", "--set", "epochs=2"});
  CHECK(fork.run.path().parent_path().filename() == "sweep-trial-000");
  CHECK(fork.run.summary().at("origin").at("run") == "sweep/1/trials/000");
  CHECK(fs::read_symlink(w.results() / "sweep/latest") == "1");
}

TEST_CASE("a fork whose checkpoints are gone does not start over") {
  const OriginRun f(kForkable);
  const Outcome fork = fork_of(f, {"--from", "10"});
  fs::remove_all(fork.run.path() / "checkpoints");
  f.refused({fork.run.path()},
            {"the checkpoint from which this fork started is missing", "ddp-exp fork small/origin --from 10"});
}

}  // namespace ddp::system_test
