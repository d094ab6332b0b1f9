#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <map>
#include <set>

#include "catch.h"
#include "sweeps.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// Real training, but small: a trial of two ranks takes a moment.
const std::string kSweep = kSmall + R"(
[validation]
split = 0.2
[sweep.parameters]
"optimizer.lr" = [0.1, 0.01, 1e-30]
batch_size     = [4, 8]
)";

}  // namespace

TEST_CASE("a trial beside a process that holds its sweep says what it waits for, and then trains") {
  const Workspace w("s.toml", kSweep);
  w.done(sweep_arguments({"--trial", "0"}));
  int held = open(sweep_of(w).path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(held >= 0);
  REQUIRE(flock(held, LOCK_EX) == 0);
  const auto process = w.start(sweep_arguments({"--trial", "1"}));
  const bool told = wait_until([&] { return contains(process->err(), "waiting up to 60 seconds: "); }, process->pid());
  close(held);
  INFO(process->err());
  CHECK(told);
  CHECK(process->wait() == 0);
  CHECK(contains(process->err(), "another process trains all trials of this sweep"));
}

TEST_CASE("a sweep trains and ranks every trial, and the best one can be repeated alone with the same bits") {
  const Workspace workspace("s.toml", kSweep);
  const Outcome outcome = workspace.done(sweep_arguments());
  const RunFolder sweep = sweep_of(workspace);
  CHECK(outcome.run.path() == sweep.path());
  const Json summary = sweep.summary();
  CHECK(summary.at("status") == "completed");
  CHECK(summary.at("completed") == 6);
  CHECK(summary.at("metric") == "val_loss");
  const Json ranking = summary.at("ranking");
  REQUIRE(ranking.size() == 6);
  double before = -1;
  std::set<std::string> points;
  for (const Json& row : ranking) {
    const RunFolder trial(sweep.path() / row.at("directory").get<std::string>());
    CHECK(trial.summary().at("status") == "completed");
    CHECK(trial.summary().at("best").at("value") == row.at("metric"));
    CHECK(row.at("metric").get<double>() >= before);
    before = row.at("metric");
    points.insert(row.at("parameters").dump());
    CHECK(contains(text_of(trial.path() / "config.toml"), "threads = 1"));
  }
  CHECK(points.size() == 6);
  CHECK(summary.at("best") == ranking[0].at("trial"));
  CHECK(contains(outcome.err, summary.at("repeat").get<std::string>()));
  CHECK(contains(text_of(sweep.path() / "report.html"), "\"kind\":\"sweep\""));
  CHECK_FALSE(fs::exists(sweep.path() / "trials" / "latest"));
  CHECK(fs::read_symlink(workspace.results() / "s" / "latest") == "one");

  const RunFolder best = trial_of(sweep, summary.at("best"));
  const Outcome again = workspace.done({"run", (best.path() / "config.toml").string()});
  check_same(again.run, best);
  // The printed command names the user's file.
  const std::string repeat = summary.at("repeat");
  CHECK(contains(repeat, "s.toml --set"));
  Words words;
  bool quoted = false;
  words.emplace_back();
  for (const char c : repeat.substr(repeat.find(" run ") + 1)) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  check_same(workspace.done(words).run, best);
}

TEST_CASE("a sweep with mistakes is refused before anything starts, with all mistakes at once") {
  const Workspace workspace("s.toml", kSmall + "[sweep.parameters]\nbatchsize = [1]\n\"optimizer.lr\" = [0.1, -1]\n");
  for (const std::string verb : {"sweep", "plan", "validate"}) {
    workspace.refused({verb, "s.toml"}, {"unknown key \"batchsize\"", "\"optimizer.lr\" must be"});
  }
  // A mistake that only tensors reveal.
  workspace.write("s.toml", kSmall + "[sweep.parameters]\n\"model.out_features\" = [2, 3]\n");
  workspace.refused({"sweep", "s.toml"}, {"mse"});
  CHECK_FALSE(fs::exists(workspace.results()));
}

TEST_CASE("plan shows a sweep's trials, its devices and its duration, and trains nothing") {
  const Workspace workspace("s.toml", kSweep);
  const Outcome outcome = workspace.done({"plan", "s.toml", "--json", "--jobs", "2"});
  const Json plan = Json::parse(outcome.out);
  CHECK(plan.at("trials").size() == 6);
  CHECK(plan.at("at_once") == 2);
  CHECK(plan.at("trials")[0].at("world_size") == 2);
  CHECK(plan.at("trials")[0].at("parameters") == Json{{"optimizer.lr", 0.1}, {"batch_size", 4}});
  CHECK(plan.at("seconds").get<double>() > 0);
  CHECK(contains(workspace.run({"plan", "s.toml"}).out, "optimizer.lr 0.01, batch_size 8"));
  CHECK_FALSE(fs::exists(workspace.results()));
}

TEST_CASE("a sweep that is killed at any moment resumes to the same ranking, and no finished trial runs twice",
          "[slow]") {
  const Workspace reference;
  reference.write("s.toml", kSweep);
  reference.done(sweep_arguments({"--set", "epochs=60"}));
  const Json expected = result_of(sweep_of(reference));

  const Workspace workspace("s.toml", kSweep);
  const RunFolder sweep = sweep_of(workspace);
  for (const std::size_t lines : {2, 5, 8, 10}) {
    const auto process = workspace.start(sweep_arguments({"--set", "epochs=60", "--set", "save_every=5"}));
    const auto enough = [&] { return fs::exists(sweep.path() / "journal.jsonl") && journal(sweep).size() >= lines; };
    REQUIRE(wait_until(enough, process->pid()));
    process->kill();
  }
  workspace.done({"resume", "s/one"});
  CHECK(result_of(sweep) == expected);
  std::map<int, int> finished;
  for (const Json& event : journal(sweep, "finished")) ++finished[event.at("trial")];
  CHECK(finished.size() == 6);
  for (const auto& [trial, times] : finished) {
    CHECK(times == 1);
    CHECK(trial_of(sweep, trial).training() == trial_of(sweep_of(reference), trial).training());
    CHECK(trial_of(sweep, trial).model() == trial_of(sweep_of(reference), trial).model());
  }
  const std::size_t before = journal(sweep).size();
  workspace.done({"resume", "s/one"});
  CHECK(journal(sweep).size() == before);
}

TEST_CASE("a sweep keeps its first settings, and other ones are refused and change nothing") {
  const Workspace workspace("s.toml", kSweep);
  workspace.done(sweep_arguments({"--set", "epochs=1", "--set", "optimizer.momentum=0.5"}));
  const RunFolder sweep = sweep_of(workspace);
  const auto content = [&] {
    std::string text;
    for (const char* file : {"sweep.toml", "summary.json", "journal.jsonl"}) text += text_of(sweep.path() / file);
    for (const std::string& name : sweep.listing()) text += name + "\n";
    return text;
  };
  const std::string before = content();
  workspace.refused({"resume", "s/one", "--set", "epochs=2"}, {"ddp-exp sweep FILE --set"});
  CHECK(content() == before);
  for (const auto& [set, said] :
       std::vector<std::pair<std::string, std::string>>{{"epochs=2", "epochs = 1, not 2"},
                                                        {"optimizer.lr=0.5", "optimizer.lr"},  // a parameter
                                                        {"sweep.retries=1", "sweep.retries = 0, not 1"},
                                                        {"save_every=1", "save_every"}}) {
    for (const Words& more : {Words{}, {"--trial", "0"}}) {
      auto arguments = sweep_arguments({"--set", "epochs=1", "--set", "optimizer.momentum=0.5", "--set", set});
      arguments.insert(arguments.end(), more.begin(), more.end());
      workspace.refused(arguments, {said});
      CHECK(content() == before);
    }
  }
  // The command that started it, as a batch system runs it again.
  workspace.done(sweep_arguments({"--set", "epochs=1", "--set", "optimizer.momentum=0.5"}));
  workspace.done({"resume", "s/one"});
  CHECK(text_of(sweep.path() / "sweep.toml") == before.substr(0, text_of(sweep.path() / "sweep.toml").size()));
}

TEST_CASE("a stop saves the running trials, and the sweep resumes them") {
  const Workspace workspace("s.toml", kSmall + "[sweep.parameters]\n\"optimizer.lr\" = [0.01, 0.001]\n");
  const RunFolder sweep = sweep_of(workspace);
  const auto process = workspace.start(sweep_arguments({"--set", "epochs=1000000"}));
  REQUIRE(wait_until([&] { return trial_of(sweep, 0).last_step() > 20; }, process->pid()));
  process->signal(SIGINT);
  const Outcome stopped = workspace.ends(130, *process);
  CHECK(sweep.summary().at("status") == "interrupted");
  CHECK(sweep.summary().at("waiting") == 1);
  const RunFolder first = trial_of(sweep, 0);
  CHECK(first.summary().at("status") == "interrupted");
  const std::int64_t saved = first.summary().at("steps");
  CHECK(fs::exists(first.checkpoint(saved)));
  CHECK(contains(stopped.err, "to continue: " DDP_EXP " resume"));
}

TEST_CASE("a failed trial is recorded with its error, is tried again, and does not stop the others") {
  const Workspace workspace("s.toml",
                            kSmall + "[sweep]\nretries = 1\n[sweep.parameters]\n\"optimizer.lr\" = [1e30, 0.01]\n");
  const Outcome outcome = workspace.done(sweep_arguments());
  const RunFolder sweep = sweep_of(workspace);
  const auto failures = journal(sweep, "failed");
  REQUIRE(failures.size() == 2);
  for (const Json& event : failures) {
    CHECK(event.at("trial") == 0);
    CHECK(contains(event.at("error"), "is not finite"));
  }
  CHECK(sweep.summary().at("status") == "completed");
  CHECK(sweep.summary().at("failed") == 1);
  CHECK(sweep.summary().at("best") == 1);
  CHECK(sweep.summary().at("ranking")[1].at("place").is_null());
  CHECK(contains(outcome.err, "trial 0 (optimizer.lr 1e+30) failed: "));
}

TEST_CASE("asha stops the worse trials early, as complete runs that can be resumed") {
  const Workspace workspace("s.toml", kSmall + R"([sweep]
method = "asha"
trials = 6
min_epochs = 1
max_epochs = 4
reduction_factor = 2
seed = 5
[sweep.parameters]
"optimizer.lr" = { min = 1e-5, max = 0.1, scale = "log" }
)");
  workspace.done(sweep_arguments());
  const RunFolder sweep = sweep_of(workspace);
  const Json summary = sweep.summary();
  CHECK(summary.at("stopped").get<int>() + summary.at("completed").get<int>() == 6);
  CHECK(summary.at("stopped").get<int>() >= 2);
  REQUIRE(summary.at("completed").get<int>() >= 1);
  for (const Json& row : summary.at("ranking")) {
    const RunFolder trial = trial_of(sweep, row.at("trial"));
    const std::int64_t epochs = row.at("epochs");
    CHECK((epochs == 1 || epochs == 2 || epochs == 4));
    CHECK(trial.summary().at("status") == (epochs == 4 ? "completed" : "interrupted"));
    CHECK(trial.has_each_step_once(trial.summary().at("steps")));
  }
  const std::string shown = workspace.run({"show", "s/one"}).out;
  const std::string listed = workspace.run({"list", "s/one"}).out;
  for (const std::string& page : {shown, listed}) {
    INFO(page);
    CHECK(contains(page, "at rung 1"));
    CHECK_FALSE(contains(page, "stopped"));
    CHECK_FALSE(contains(page, "interrupted"));
    CHECK(contains(page, "s/one/005"));
  }
  workspace.done({"show", "s/one/005"});
  // The lowest stopped trial of the ranking trains on, with the bits of an uninterrupted one.
  const RunFolder last = trial_of(sweep, summary.at("ranking")[5].at("trial"));
  REQUIRE(last.summary().at("status") == "interrupted");
  workspace.done({"resume", last.path().string()});
  const Outcome alone = workspace.done({"run", (last.path() / "config.toml").string()});
  CHECK(alone.run.model() == last.model());
}

TEST_CASE("a sweep in the place of a trained run stands for its best trial") {
  const Workspace workspace("s.toml", kSweep);
  workspace.done(sweep_arguments({"--set", "epochs=1"}));
  const std::string said = "the best trial of the sweep: results/s/one/trials/000";
  const Outcome exported = workspace.done({"export", "s/one", "w.safetensors"}, {said});
  CHECK(count(exported.err, said) == 1);
}

}  // namespace ddp::system_test
