// watch, logs and stop: a run or a sweep seen, and ended, from another terminal.
#include <csignal>

#include "catch.h"
#include "long_run.h"
#include "sweeps.h"

namespace ddp::system_test {
namespace {

constexpr const char* kEndlessSweep = R"(
model = "toy"
dataset = "random_batch"
batch_size = 20
steps = 100000000
threads = 1
device_pool = 1
checkpoint = { save_every_steps = 1000 }
[sweep]
method = "random"
trials = 3
[sweep.parameters]
"optimizer.lr" = { min = 1e-4, max = 0.1 }
)";

namespace fs = std::filesystem;

bool trains(const RunFolder& trial, std::int64_t after) {
  return fs::exists(trial.path() / "metrics.jsonl") && trial.last_step() > after;
}

}  // namespace

TEST_CASE("stop lets a run save and end as ^C does, waits for that, and the run resumes to the same bits") {
  LongRun run({});
  const Workspace& w = run.workspace();
  const Outcome stop = w.done({"stop", "small"}, {"asked it to save and end", "has ended: interrupted after step"});
  CHECK(run.process().ended());
  run.ends(128 + SIGINT, {"stopping after this step", "stopped; saved after step"});
  CHECK(run.folder().summary().at("status") == "interrupted");
  CHECK_FALSE(fs::exists(run.folder().path() / "stop"));
  w.done({"stop", "small"}, {"has ended: interrupted after step"});
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("a run whose folder was renamed saves into it, and hears stop") {
  LongRun run({});
  const fs::path folder = run.folder().path();
  const RunFolder renamed(folder.parent_path() / "renamed");
  fs::rename(folder, renamed.path());
  run.workspace().done({"stop", renamed.path().string()}, {"has ended: interrupted after step"});
  run.ends(128 + SIGINT, {"stopped; saved after step", "renamed"});
  CHECK_FALSE(fs::exists(folder));
  CHECK(renamed.summary().at("status") == "interrupted");
  fs::rename(renamed.path(), folder);
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("stop of a run that does not answer ends, and names the process that can be stopped") {
  LongRun run({});
  run.process().signal(SIGSTOP);
  const Outcome stop = run.workspace().run({"stop", "small"});
  CHECK(stop.code == 1);
  CHECK(contains(stop.err, "kill -TERM " + std::to_string(run.process().pid())));
  CHECK_FALSE(fs::exists(run.folder().path() / "stop"));
}

TEST_CASE("stop --now ends a run without a save, also after a stop that waits for the save") {
  LongRun run({});
  const std::string saved = run.folder().model();
  REQUIRE(stand_still(run.process().ranks()));
  const auto first = run.workspace().start({"stop", "small"});
  REQUIRE(wait_until([&] { return run.process().err().find("stopping after this step") != std::string::npos; }));
  run.workspace().done({"stop", "small", "--now"}, {"asked it to end at once", "has ended: interrupted"});
  run.ends(128 + SIGINT, {"stopping at once"});
  CHECK(first->wait() == 0);
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("stop ends a sweep and its trials, after their saves or at once, and refuses a trial alone") {
  const Workspace w("s.toml", kEndlessSweep);
  auto sweep = w.start(sweep_arguments({"--jobs", "2"}));
  std::int64_t before[] = {0, 0};
  for (const bool now : {false, true}) {
    const auto goes_on = [&](int trial) { return trains(trial_of(sweep_of(w), trial), before[trial]); };
    REQUIRE(wait_until([&] { return goes_on(0) && goes_on(1); }, sweep->pid()));
    w.refused({"stop", "s/one/0"}, {"this is a trial of a sweep", "stop the sweep: "});
    w.done(now ? Words{"stop", "s", "--now"} : Words{"stop", "s"}, {"has ended: interrupted, 0 of 3 trials done"});
    w.ends(128 + SIGINT, *sweep, {now ? "stopping at once" : "stopping: running trials save"});
    for (int trial : {0, 1}) {
      CHECK(trial_of(sweep_of(w), trial).summary().at("status") == "interrupted");
      before[trial] = trial_of(sweep_of(w), trial).last_step();
    }
    if (!now) sweep = w.start({"resume", "s"});
  }
}

TEST_CASE("logs prints the logs of all ranks or of one, and with -f until the run has ended") {
  LongRun run({});
  const Workspace& w = run.workspace();
  const auto follow = w.start({"logs", "small", "-f", "--rank", "1"});
  REQUIRE(wait_until([&] { return follow->out().find("rank 1 | ") != std::string::npos; }, follow->pid()));
  run.stop();
  CHECK(follow->wait() == 0);
  CHECK(follow->out() == run.folder().log(1));
  CHECK(follow->err().find("has ended: interrupted") != std::string::npos);
  CHECK(w.done({"logs", "small"}).out == run.folder().log(0) + run.folder().log(1));
  w.refused({"logs", "small", "--rank", "7"}, {"no log of rank 7"});
}

TEST_CASE("watch shows what trains until it has ended") {
  LongRun run({});
  const Workspace& w = run.workspace();
  const Outcome all = w.done({"watch"});
  CHECK(all.out.find(run.folder().path().filename().string()) != std::string::npos);
  CHECK(all.out.find("running") != std::string::npos);
  const auto one = w.start({"watch", "small"});
  const auto drawn = w.start({"watch", "small"}, {}, /*terminal=*/true);
  const auto plain = w.start({"watch", "small"}, {{"NO_COLOR", "1"}}, /*terminal=*/true);
  CHECK(wait_until([&] { return contains(drawn->err(), "| loss ") && contains(drawn->err(), " left"); }, drawn->pid()));
  run.stop();
  CHECK(one->wait() == 0);
  CHECK(one->err().find("has ended: interrupted") != std::string::npos);
  CHECK(drawn->wait() == 0);
  CHECK(plain->wait() == 0);
  CHECK(contains(plain->err(), "has ended: interrupted"));
  CHECK_FALSE(contains(plain->err(), "\033"));
  CHECK(w.done({"watch"}, {"nothing runs in results"}).out.empty());
}

TEST_CASE("a run that does not go on is shown as stuck, with the rank that holds it up, until it goes on") {
  LongRun run({});
  const Workspace& w = run.workspace();
  const auto is_shown = [&](const std::string& text) { return contains(w.done({"list"}).out, text); };
  // It must have looked a few times: what is usual follows from the steps between two looks.
  const std::int64_t steps = run.folder().last_step();
  REQUIRE(wait_until([&] { return run.folder().last_step() > steps + 200; }, run.process().pid()));
  const pid_t held = run.process().ranks().at(1);
  kill(held, SIGSTOP);
  CHECK(wait_until([&] { return is_shown("stuck"); }, run.process().pid()));
  CHECK(contains(w.done({"watch"}).out, "stuck"));
  CHECK(contains(w.done({"show", "small"}).out, "rank 1 is after step "));
  const auto watching = w.start({"watch", "small"}, {}, /*terminal=*/true);
  CHECK(wait_until([&] { return contains(watching->err(), "stuck: rank 1 is after step "); }, watching->pid()));
  CHECK(contains(run.folder().summary().at("stuck"), "its process is stopped"));
  kill(held, SIGCONT);
  CHECK(wait_until([&] { return is_shown("running"); }, run.process().pid()));
  run.stop();
  CHECK(watching->wait() == 0);
  CHECK(run.folder().summary().at("stuck").is_null());
}

}  // namespace ddp::system_test
